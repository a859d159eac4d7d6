// SPDX-License-Identifier: Apache-2.0
#include "patterns.h"

#include "region/chain.h"
#include "region/decomposed.h"
#include "region/integers.h"

namespace byoc::onednn {
namespace {

using namespace sdk;  // the table reads as its own small language

// Matches any chain of these after an op; it is computed before the result is stored.
Dag post_ops(const Dag& on, std::string_view capture) {
  std::string choices;
  for (const ChainOp& row : chain_ops()) {
    Dag next = row.is_binary ? op(row.op, {prior(), any("other")}) : op(row.op, {prior()});
    choices += (choices.empty() ? "" : ",") + next.json();
  }
  return repeat({"one_of", "[" + choices + "]"}, on, capture, 0, 16);
}

Dag biased(std::string_view anchor) {
  Dag bias = op("add", {prior(), constant("bias")}).as("bias_add");
  return optional(bias, op(anchor, {any("a"), any("b")}).as("anchor"));
}

// Matches a function whose operand is read twice or more: an op with its bias and up
// to two residuals.
Dag summed(std::string_view anchor) {
  Dag add = op("add", {prior(), any("other")});
  return one_of({repeat(add, biased(anchor), "before", 0, 2)}).as("x");
}

}  // namespace

std::vector<Pattern> pattern_table() {
  std::vector<Pattern> table;
  for (std::string anchor : {"conv2d", "conv1d", "conv3d", "conv2d_transpose", "conv1d_transpose",
                             "conv3d_transpose", "matmul", "gemm"}) {
    table.emplace_back(anchor, post_ops(biased(anchor), "post"), 10);
    for (const Decomposed& function : decomposed_functions()) {
      table.emplace_back(anchor + "_" + std::string(function.name) + "_pieces",
                         post_ops(function.pattern(summed(anchor)), "after"), 20);
    }
  }
  add_integer_patterns(table);
  for (const Decomposed& function : decomposed_functions())
    table.emplace_back(std::string(function.name) + "_pieces", function.pattern(any("x")), 15);
  table.emplace_back("layer_norm_pieces", decomposed_layer_norm(), 20);
  add_ops(table,
          {"max_pool", "average_pool", "global_max_pool", "global_average_pool",
           // elementwise and binary
           "relu", "leaky_relu", "clip", "sigmoid", "tanh", "gelu", "swish", "hard_swish", "elu",
           "abs", "sqrt", "mish", "softplus", "round", "negative", "reciprocal", "exp", "log",
           "rsqrt", "prelu", "power", "add", "multiply", "maximum", "minimum", "subtract", "divide",
           "equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
           // along axes
           "batch_norm", "layer_norm", "lrn", "softmax", "log_softmax", "mean", "sum", "max", "min",
           "prod", "l1", "l2", "sum_square",
           // memory seen otherwise
           "concat", "reshape", "flatten", "squeeze", "unsqueeze", "layout_transform", "transpose",
           "slice", "split", "gather", "identity",
           // by other means
           "resize", "where", "pad"});
  return table;
}

}  // namespace byoc::onednn
