#include "patterns.h"

namespace byoc::onednn {
namespace {

using namespace sdk;  // the table reads as its own small language

// Any chain of these behind an op is computed before the result is stored.
Dag post_ops(const Dag& on) {
  Dag next = one_of({op("relu", {prior()}), op("add", {prior(), any("other")})});
  return repeat(next, on, "post", 0, 16);
}

Dag bias(const Dag& on) { return optional(op("add", {prior(), constant("bias")}), on); }

}  // namespace

std::vector<Pattern> pattern_table() {
  std::vector<Pattern> table = {
      {"conv2d", post_ops(bias(op("conv2d", {any("x"), any("weight")}).as("anchor"))), 10},
      {"matmul", bias(op("matmul", {any("a"), any("b")}).as("anchor")), 10},
      {"gemm", bias(op("gemm", {any("a"), any("b")}).as("anchor")), 10},
  };
  add_ops(table, {"max_pool", "average_pool", "global_average_pool", "relu", "add"});
  return table;
}

}  // namespace byoc::onednn
