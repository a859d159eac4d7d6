// SPDX-License-Identifier: Apache-2.0
// The xnnpack plugin: convolutions, products, pools and elementwise ops of f32 by XNNPACK.
#include "byoc/plugin/sdk.h"

#include "kernel.h"

namespace byoc::xnnpack {
namespace {

using namespace sdk;  // the table of patterns reads as its own small language

Dag bounds() { return one_of({op("relu", {prior()}), op("clip", {prior()})}); }

void add_anchors(std::vector<Pattern>& table) {
  for (std::string name : {"conv2d", "matmul", "gemm"}) {
    Dag biased = optional(op("add", {prior(), constant("bias")}),
                          op(name, {any("x"), constant("weight")}).as("anchor"));
    table.emplace_back(name, optional(bounds(), biased), 10);
  }
  for (std::string name : {"add", "subtract", "multiply"})
    table.emplace_back(name, optional(bounds(), op(name, {any("a"), any("b")}).as("anchor")), 5);
}

class XnnpackPlugin : public Plugin {
 public:
  void open(const Options&) override { initialise(); }
  std::vector<Pattern> patterns() const override {
    std::vector<Pattern> table;
    add_anchors(table);
    add_ops(table, {"max_pool", "average_pool", "global_average_pool", "softmax", "relu", "clip",
                    "abs", "negative", "floor", "ceil", "round", "sqrt", "sigmoid", "hard_swish",
                    "leaky_relu", "elu"});
    return table;
  }
  /// Accepts what read_unit reads; operators that need no weights are made, so that XNNPACK's own
  /// refusals come before partitioning.
  Verdict judge(const Graph& candidate) const override {
    const Unit unit = read_unit(candidate, candidate.nodes.at(0));
    if (unit.weight < 0)
      make_operator(unit, nullptr, nullptr,
                    static_cast<uint64_t>(candidate.type(candidate.nodes[0]).elements()));
    return Verdict::yes("xnnpack");
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<XnnpackKernel>(make_plan(function));
  }
};

}  // namespace
}  // namespace byoc::xnnpack

BYOC_PLUGIN(byoc::xnnpack::XnnpackPlugin, "xnnpack", "0.1.0", .priority = -20)
