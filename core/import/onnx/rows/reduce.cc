// SPDX-License-Identifier: Apache-2.0
// Reductions, argmax and argmin, the softmax family, cumsum, topk.
#include "core/import/onnx/operands.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Converts a reduction whose axes are an attribute up to opset `last_attr` and an input after that.
Converted reduction(Graph& graph, const OnnxNode& node, std::string_view op, int last_attr) {
  BYOC_TRY(Ints axes, ints_attr_or_input(graph, node, "axes", last_attr, 1));
  Attrs attrs{{"axes", axes},
              {"keepdims", node.i("keepdims", 1) != 0},
              {"noop_with_empty_axes", node.i("noop_with_empty_axes", 0) != 0}};
  return std::vector{graph.call(op, {graph.input(0)}, attrs)};
}

template <OpName op>
Converted reduce(Graph& graph, const OnnxNode& node) {
  return reduction(graph, node, op.text, 17);
}

Converted reduce_sum(Graph& graph, const OnnxNode& node) {
  return reduction(graph, node, "sum", 12);
}

// Returns `shape` as an attribute of reshape, where at most one extent may be unknown.
Result<Ints> target_of(const Shape& shape) {
  Ints target;
  bool has_open = false;
  for (Dim dim : shape) {
    if (!dim.is_static() && has_open)
      return unimplemented(cat("it flattens ", shape, ", and more than one extent is unknown"));
    has_open = has_open || !dim.is_static();
    target.push_back(dim.is_static() ? dim.extent() : -1);
  }
  return target;
}

// Converts the softmax family before opset 13: `axis` and all axes after it are flattened into one.
template <OpName op>
Converted over_trailing_axes(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  const Shape shape = graph.type(x).shape;
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", 1), shape.size()));
  if (axis + 1 == shape.size()) return std::vector{graph.call(op.text, {x}, {{"axis", -1}})};
  BYOC_TRY(Ints target, target_of(shape));
  ValueId flat = graph.call("flatten", {x}, {{"axis", static_cast<int64_t>(axis)}});
  ValueId result = graph.call(op.text, {flat}, {{"axis", 1}});
  return std::vector{graph.call("reshape", {result}, {{"shape", target}})};
}

template <OpName op>
Converted cumulative(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Ints axis, constant_ints(graph, node, 1, "axis"));
  if (axis.size() != 1)
    return invalid(cat("its input \"axis\" has ", axis.size(), " elements, expects 1"));
  Attrs attrs{{"axis", axis[0]},
              {"exclusive", node.i("exclusive", 0) != 0},
              {"reverse", node.i("reverse", 0) != 0}};
  return std::vector{graph.call(op.text, {graph.input(0)}, attrs)};
}

// Converts TopK whose K is computed.
Converted topk_counted(Graph& graph, const OnnxNode& node) {
  Attrs attrs{{"axis", node.i("axis", -1)},
              {"largest", node.i("largest", 1) != 0},
              {"sorted", node.i("sorted", 1) != 0},
              {"size", graph.new_size("topk")}};
  ValueId values = graph.call("topk_counted", {graph.input(0), graph.input(1)}, attrs);
  return std::vector{values, ValueId{values.node, 1}};
}

Converted topk(Graph& graph, const OnnxNode& node) {
  int64_t k = node.i("k", 0);
  if (node.opset() >= 10 && node.has_input(1) && !graph.const_ints(graph.input(1)))
    return topk_counted(graph, node);
  if (node.opset() >= 10) {
    BYOC_TRY(Ints given, constant_ints(graph, node, 1, "K"));
    if (given.size() != 1)
      return invalid(cat("its input \"K\" has ", given.size(), " elements, expects 1"));
    k = given[0];
  }
  Attrs attrs{{"k", k},
              {"axis", node.i("axis", -1)},
              {"largest", node.i("largest", 1) != 0},
              {"sorted", node.i("sorted", 1) != 0}};
  ValueId values = graph.call("topk", {graph.input(0)}, attrs);
  return std::vector{values, ValueId{values.node, 1}};
}

constexpr Row kReduceRows[] = {
    {"ArgMax", 1, kNewest, renamed<"argmax">},
    {"ArgMin", 1, kNewest, renamed<"argmin">},
    {"CumProd", 26, kNewest, cumulative<"cumprod">},
    {"CumSum", 11, kNewest, cumulative<"cumsum">},
    {"Hardmax", 1, 12, over_trailing_axes<"hardmax">},
    {"Hardmax", 13, kNewest, renamed<"hardmax">},
    {"LogSoftmax", 1, 12, over_trailing_axes<"log_softmax">},
    {"LogSoftmax", 13, kNewest, renamed<"log_softmax">},
    {"ReduceL1", 1, kNewest, reduce<"l1">},
    {"ReduceL2", 1, kNewest, reduce<"l2">},
    {"ReduceLogSum", 1, kNewest, reduce<"log_sum">},
    {"ReduceLogSumExp", 1, kNewest, reduce<"log_sum_exp">},
    {"ReduceMax", 1, kNewest, reduce<"max">},
    {"ReduceMean", 1, kNewest, reduce<"mean">},
    {"ReduceMin", 1, kNewest, reduce<"min">},
    {"ReduceProd", 1, kNewest, reduce<"prod">},
    {"ReduceSum", 1, kNewest, reduce_sum},
    {"ReduceSumSquare", 1, kNewest, reduce<"sum_square">},
    {"Softmax", 1, 12, over_trailing_axes<"softmax">},
    {"Softmax", 13, kNewest, renamed<"softmax">},
    {"TopK", 1, kNewest, topk},
};

}  // namespace

std::span<const Row> reduce_rows() { return kReduceRows; }

}  // namespace byoc::onnx_import
