// SPDX-License-Identifier: Apache-2.0
// The openblas plugin: matrix products, alone, of transposed operands, and with a bias.
#include "byoc/plugin/sdk.h"

#include <cblas.h>

#include "kernel.h"

namespace byoc::openblas {
namespace {

using namespace sdk;  // the table of patterns reads as its own small language

// Matches a value, or a transposition of it, which the product reads where it is.
Dag operand(std::string_view name) { return one_of({op("transpose", {any(name)}), any(name)}); }

void add_composites(std::vector<Pattern>& table, const std::string& name, const Dag& product,
                    int32_t priority) {
  table.emplace_back(name + "_bias", op("add", {product, any("bias")}), priority + 1);
}

class OpenblasPlugin : public Plugin {
 public:
  void open(const Options&) override {
    openblas_set_num_threads(1);  // frees what it holds for more threads; the host has threads
  }
  std::vector<Pattern> patterns() const override {
    std::vector<Pattern> table;
    for (std::string name : {"matmul", "gemm"}) {
      Dag product = op(name, {operand("a"), operand("b")}).as("product");
      table.emplace_back(name + "_of_transposed", product, 10);
      add_composites(table, name, product, 10);
    }
    for (std::string name : {"conv1d", "conv2d", "conv3d"})
      add_composites(table, name, op(name, {any("x"), any("weight")}).as("product"), 10);
    add_ops(table, {"matmul", "gemm", "conv1d", "conv2d", "conv3d"});
    return table;
  }
  Verdict judge(const Graph& candidate) const override {
    read_product(candidate, candidate.nodes.at(0));
    return Verdict::yes("gemm");
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<ProductKernel>(function);
  }
  std::string made_with() const override { return openblas_get_config(); }
};

}  // namespace
}  // namespace byoc::openblas

BYOC_PLUGIN(byoc::openblas::OpenblasPlugin, "openblas", "0.1.0", .priority = -10)
