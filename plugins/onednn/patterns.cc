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

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias
Dag layer_norm_pieces() {
  Dag centred = op("subtract", {any("x"), op("mean", {same("x")}).as("mean")}).as("centred");
  Dag square = op("power", {same("centred"), constant("exponent")});
  Dag variance = op("add", {op("mean", {square}).as("variance"), constant("epsilon")});
  Dag normal = op("divide", {centred, op("sqrt", {variance})});
  return op("add", {op("multiply", {normal, constant("scale")}), constant("bias")});
}

// x * (erf(x / sqrt(2)) + 1) * 0.5, x being `of` captured as "x"
Dag gelu_pieces(const Dag& of) {
  Dag erf = op("erf", {op("divide", {same("x"), constant("root")})});
  return op("multiply",
            {op("multiply", {of, op("add", {erf, constant("one")})}), constant("half")});
}

Dag biased(std::string_view anchor) {
  return op("add", {op(anchor, {any("a"), any("b")}).as("anchor"), constant("bias")}).as("x");
}

}  // namespace

std::vector<Pattern> pattern_table() {
  std::vector<Pattern> table;
  for (const char* name :
       {"conv2d", "conv1d", "conv3d", "conv2d_transpose", "conv1d_transpose", "conv3d_transpose"}) {
    table.emplace_back(name, post_ops(bias(op(name, {any("x"), any("weight")}).as("anchor"))), 10);
  }
  for (const char* name : {"matmul", "gemm"})
    table.emplace_back(name, post_ops(bias(op(name, {any("a"), any("b")}).as("anchor"))), 10);
  table.emplace_back("layer_norm_pieces", layer_norm_pieces(), 20);
  table.emplace_back("matmul_bias_gelu_pieces", gelu_pieces(biased("matmul")), 20);
  table.emplace_back("gemm_bias_gelu_pieces", gelu_pieces(biased("gemm")), 20);
  table.emplace_back("gelu_pieces", gelu_pieces(any("x")), 20);
  add_ops(table, {"max_pool", "average_pool", "global_max_pool", "global_average_pool",
                  // elementwise and binary
                  "relu", "leaky_relu", "clip", "sigmoid", "tanh", "gelu", "swish", "hard_swish",
                  "elu", "abs", "sqrt", "mish", "softplus", "round", "negative", "reciprocal",
                  "add", "multiply", "maximum", "minimum", "subtract", "divide",
                  // along axes
                  "batch_norm", "layer_norm", "lrn", "softmax", "log_softmax", "mean", "sum", "max",
                  "min", "prod", "l1", "l2", "sum_square",
                  // memory seen otherwise
                  "concat", "reshape", "flatten", "squeeze", "unsqueeze", "transpose"});
  return table;
}

}  // namespace byoc::onednn
