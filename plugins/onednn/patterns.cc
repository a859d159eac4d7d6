#include "patterns.h"

namespace byoc::onednn {
namespace {

using namespace sdk;  // the table reads as its own small language

// Any chain of these behind an op is computed before the result is stored.
Dag post_ops(const Dag& on) {
  auto unary = [](std::string_view name) { return op(name, {prior()}); };
  auto binary = [](std::string_view name) { return op(name, {prior(), any("other")}); };
  Dag next = one_of({unary("relu"), unary("clip"), unary("tanh"), unary("gelu"), unary("swish"),
                     unary("hard_swish"), unary("hard_sigmoid"), unary("elu"), unary("leaky_relu"),
                     unary("mish"), binary("add"), binary("multiply"), binary("maximum"),
                     binary("minimum"), binary("subtract"), binary("divide")});
  return repeat(next, on, "post", 0, 16);
}

Dag bias(const Dag& on) { return optional(op("add", {prior(), constant("bias")}), on); }

}  // namespace

std::vector<Pattern> pattern_table() {
  std::vector<Pattern> table;
  for (const char* name :
       {"conv2d", "conv1d", "conv3d", "conv2d_transpose", "conv1d_transpose", "conv3d_transpose"}) {
    table.emplace_back(name, post_ops(bias(op(name, {any("x"), any("weight")}).as("anchor"))), 10);
  }
  for (const char* name : {"matmul", "gemm"})
    table.emplace_back(name, post_ops(bias(op(name, {any("a"), any("b")}).as("anchor"))), 10);
  add_ops(table, {"max_pool", "average_pool", "global_max_pool", "global_average_pool",
                  // elementwise and binary
                  "relu", "leaky_relu", "clip", "sigmoid", "tanh", "gelu", "swish", "hard_swish",
                  "elu", "abs", "sqrt", "mish", "softplus", "round", "negative", "reciprocal",
                  "add", "multiply", "maximum", "minimum", "subtract", "divide",
                  // along axes
                  "batch_norm", "layer_norm", "lrn", "log_softmax", "mean", "sum", "max", "min",
                  "prod", "l1", "l2", "sum_square",
                  // memory seen otherwise
                  "concat", "reshape", "flatten", "squeeze", "unsqueeze", "transpose"});
  return table;
}

}  // namespace byoc::onednn
