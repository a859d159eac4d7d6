// SPDX-License-Identifier: Apache-2.0
// Ops that reshape and move elements: Flatten, Transpose, Concat, Split, ...
#include <algorithm>

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

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

// Returns the sizes of a split into equal parts, of which only the last one may be smaller.
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

// ---- triangles

Converted trilu(Graph& graph, const OnnxNode& node) {
  Ints k = {0};
  if (node.has_input(1)) {
    BYOC_TRY(k, constant_ints(graph, node, 1, "k"));
  }
  if (k.size() != 1) return invalid(cat("its input \"k\" has ", k.size(), " elements, expected 1"));
  Attrs attrs{{"upper", node.i("upper", 1) != 0}, {"k", k[0]}};
  return std::vector{graph.call("trilu", {graph.input(0)}, attrs)};
}

Converted eye_like(Graph& graph, const OnnxNode& node) {
  Attrs attrs{{"k", node.i("k", 0)}};
  if (node.has("dtype")) {
    BYOC_TRY(DType dtype, dtype_from_onnx(static_cast<int32_t>(node.i("dtype", 0))));
    attrs.set("dtype", dtype);
  }
  return std::vector{graph.call("eye_like", {graph.input(0)}, attrs)};
}

constexpr Row kShapeRows[] = {
    {"Flatten", 1, kNewest, flatten},
    {"Squeeze", 1, kNewest, squeeze},
    {"Unsqueeze", 1, kNewest, unsqueeze},
    {"Transpose", 1, kNewest, transpose},
    {"Concat", 1, kNewest, concat},
    {"Split", 2, kNewest, split},
    {"DepthToSpace", 1, kNewest, renamed<"depth_to_space">},
    {"SpaceToDepth", 1, kNewest, renamed<"space_to_depth">},
    {"Trilu", 14, kNewest, trilu},
    {"EyeLike", 9, kNewest, eye_like},
    {"ReverseSequence", 10, kNewest, renamed<"reverse_sequence">},
};

}  // namespace

std::span<const Row> shape_rows() { return kShapeRows; }

}  // namespace byoc::onnx_import
