// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/operands.h"

namespace byoc::onnx_import {

Status computed_operand(Graph& graph, ValueId value, std::string_view what,
                        std::string_view accepted) {
  return unimplemented(cat("its input \"", what, "\" is computed at run time; only ", accepted,
                           " are supported"))
      .with_help(graph.cure(value));
}

Result<Ints> constant_ints(Graph& graph, const OnnxNode& node, size_t k, std::string_view what) {
  if (!node.has_input(k)) return invalid(cat("its input \"", what, "\" is missing"));
  if (auto values = graph.const_ints(graph.input(k))) return *std::move(values);
  return computed_operand(graph, graph.input(k), what);
}

Result<Ints> ints_attr_or_input(Graph& graph, const OnnxNode& node, std::string_view name,
                                int last_attr, size_t k) {
  if (node.opset() <= last_attr) return node.ints(name);
  if (!node.has_input(k)) return Ints{};
  return constant_ints(graph, node, k, name);
}

Result<size_t> normal_axis(int64_t axis, size_t rank) {
  auto size = static_cast<int64_t>(rank);
  if (axis >= -size && axis < size) return static_cast<size_t>(axis < 0 ? axis + size : axis);
  return invalid(cat("axis ", axis, " is outside [", -size, ", ", size, ")"));
}

}  // namespace byoc::onnx_import
