// Ops that reshape and move elements: Reshape, Transpose, Concat, Split, Slice, Pad, ...
#include <algorithm>

#include "core/import/onnx/operands.h"

namespace byoc::onnx_import {
namespace {

Converted reshape(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Ints shape, ints_attr_or_input(graph, node, "shape", 4, 1));
  Attrs attrs{{"shape", shape}, {"allow_zero", node.i("allowzero", 0) != 0}};
  return std::vector{graph.call("reshape", {graph.input(0)}, attrs)};
}

Converted flatten(Graph& graph, const OnnxNode& node) {
  return std::vector{graph.call("flatten", {graph.input(0)}, {{"axis", node.i("axis", 1)}})};
}

Converted squeeze(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Ints axes, ints_attr_or_input(graph, node, "axes", 12, 1));
  return std::vector{graph.call("squeeze", {graph.input(0)}, {{"axes", axes}})};
}

Converted unsqueeze(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Ints axes, ints_attr_or_input(graph, node, "axes", 12, 1));
  return std::vector{graph.call("unsqueeze", {graph.input(0)}, {{"axes", axes}})};
}

Converted transpose(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  Ints perm = node.ints("perm");
  for (size_t d = graph.rank(x); !node.has("perm") && d-- > 0;)
    perm.push_back(static_cast<int64_t>(d));
  return std::vector{graph.call("transpose", {x}, {{"perm", perm}})};
}

Converted concat(Graph& graph, const OnnxNode& node) {
  if (node.opset() >= 4 && !node.has("axis")) return invalid("its attribute \"axis\" is missing");
  return std::vector{graph.call("concat", graph.inputs(), {{"axis", node.i("axis", 1)}})};
}

// Without sizes: as equal as possible; the last part is the smaller one where they cannot be equal.
Result<Ints> equal_parts(const OnnxNode& node, Dim extent) {
  if (!extent.is_static())
    return unimplemented(cat("the extent of the axis must be known, it is ", extent));
  auto parts = static_cast<int64_t>(node.num_outputs());
  if (parts == 0) return invalid("it has no outputs");
  int64_t each = extent.extent() / parts + (extent.extent() % parts != 0);
  Ints sizes;
  for (int64_t left = extent.extent(); parts > 0; --parts) {
    sizes.push_back(std::min(each, left));
    left -= sizes.back();
  }
  return sizes;
}

Converted split(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", 0), graph.rank(x)));
  BYOC_TRY(Ints sizes, ints_attr_or_input(graph, node, "split", 12, 1));
  bool given = node.opset() <= 12 ? node.has("split") : node.has_input(1);
  if (!given) {
    BYOC_TRY(sizes, equal_parts(node, graph.type(x).shape[axis]));
  }
  if (sizes.size() < node.num_outputs()) {
    return invalid(cat("it has ", node.num_outputs(), " outputs and ", sizes.size(), " sizes"));
  }
  Attrs attrs{{"axis", static_cast<int64_t>(axis)}, {"split", sizes}};
  ValueId first = graph.call("split", {x}, attrs);
  std::vector<ValueId> outputs;
  for (uint32_t k = 0; k < node.num_outputs(); ++k) outputs.push_back({first.node, k});
  return outputs;
}

constexpr Row kRows[] = {
    {"Reshape", 1, kNewest, reshape},     {"Flatten", 1, kNewest, flatten},
    {"Squeeze", 1, kNewest, squeeze},     {"Unsqueeze", 1, kNewest, unsqueeze},
    {"Transpose", 1, kNewest, transpose}, {"Concat", 1, kNewest, concat},
    {"Split", 2, kNewest, split},
};

}  // namespace

std::span<const Row> shape_rows() { return kRows; }

}  // namespace byoc::onnx_import
