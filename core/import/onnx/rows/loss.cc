// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, converted into a look-up of each class and
// a reduction. Source: ONNX opset 13.
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Returns -x[n, classes[n, ...], ...] per entry, and the weight of each entry: 0 for classes equal
// to ignore_index. The weight is empty when all are 1.
struct Losses {
  ValueId each;
  Value weight;
};

Result<Losses> losses_of(Graph& graph, const OnnxNode& node, ValueId x) {
  ValueId classes = graph.input(1);
  const TensorType type = graph.type(x);
  if (type.shape.size() < 2 || graph.rank(classes) + 1 != type.shape.size())
    return invalid(cat("the scores must be [n, c, ...] and the classes [n, ...], they are ", type,
                       " and ", graph.type(classes)));
  Value kept;  // true for entries that count
  if (node.has("ignore_index")) {
    DType index_type = graph.type(classes).dtype;
    ValueId ignored = graph.scalar(index_type, static_cast<double>(node.i("ignore_index", 0)));
    kept = graph.call("not_equal", {classes, ignored});
    classes = graph.call("where", {*kept, classes, graph.scalar(index_type, 0)});
  }
  classes = in_range(graph, classes, type.shape[1], 0, "loss.target");
  ValueId picked =
      graph.call("gather_elements", {x, unsqueezed(graph, classes, {1})}, {{"axis", 1}});
  Losses losses{graph.call("negative", {graph.call("squeeze", {picked}, {{"axes", Ints{1}}})}), {}};
  ValueId zero = graph.scalar(type.dtype, 0);
  if (Value weights = graph.optional_input(2)) {
    ValueId weight = graph.call("gather", {*weights, classes}, {{"axis", 0}});
    losses.weight = kept ? graph.call("where", {*kept, weight, zero}) : weight;
    losses.each = multiply(graph, losses.each, *losses.weight);
  } else if (kept) {
    losses.weight = cast_to(graph, *kept, type.dtype);
  }
  // An ignored entry has no loss, also where x is infinite.
  if (kept) losses.each = graph.call("where", {*kept, losses.each, zero});
  return losses;
}

Result<ValueId> reduced(Graph& graph, const OnnxNode& node, const Losses& losses) {
  std::string reduction = node.s("reduction", "mean");
  Attrs all{{"keepdims", false}};
  if (reduction == "none") return losses.each;
  if (reduction == "sum") return graph.call("sum", {losses.each}, all);
  if (reduction != "mean")
    return invalid(cat("reduction is \"", reduction, "\", expected none, sum or mean"));
  if (!losses.weight) return graph.call("mean", {losses.each}, all);
  return graph.call(
      "divide", {graph.call("sum", {losses.each}, all), graph.call("sum", {*losses.weight}, all)});
}

Converted negative_log_likelihood(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Losses losses, losses_of(graph, node, graph.input(0)));
  BYOC_TRY(ValueId y, reduced(graph, node, losses));
  return std::vector{y};
}

Converted softmax_cross_entropy(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.call("log_softmax", {graph.input(0)}, {{"axis", 1}});
  BYOC_TRY(Losses losses, losses_of(graph, node, x));
  BYOC_TRY(ValueId y, reduced(graph, node, losses));
  return std::vector{y, x};
}

constexpr Row kLossRows[] = {
    {"NegativeLogLikelihoodLoss", 12, kNewest, negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, kNewest, softmax_cross_entropy},
};

}  // namespace

std::span<const Row> loss_rows() { return kLossRows; }

}  // namespace byoc::onnx_import
