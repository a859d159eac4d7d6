// SPDX-License-Identifier: Apache-2.0
// Sequences whose elements are known while reading: they are lists of values, and leave no ops.
#include <algorithm>

#include "core/import/onnx/operands.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

using Elements = std::vector<ValueId>;

Result<Elements> elements_of(Graph& graph, size_t k) {
  const ValueId value = graph.input(k);
  if (const Elements* elements = graph.sequence(value)) return *elements;
  return invalid(cat("input ", k, " is ", graph.type(value), ", expected a sequence"));
}

// Returns a position in a sequence of `size` elements; `most` is the greatest.
Result<size_t> position(Graph& graph, const OnnxNode& node, size_t k, size_t size, size_t most) {
  BYOC_TRY(Ints given, constant_ints(graph, node, k, "position"));
  const auto n = static_cast<int64_t>(size);
  if (given.size() != 1)
    return invalid(cat("position has ", given.size(), " elements, expected 1"));
  const int64_t at = given[0] < 0 ? given[0] + n : given[0];
  if (at >= 0 && at <= static_cast<int64_t>(most)) return static_cast<size_t>(at);
  return invalid(cat("position ", given[0], " is outside of a sequence of ", n, " elements"));
}

Converted construct(Graph& graph, const OnnxNode& node) {
  Elements elements;
  if (node.num_inputs() > 0) elements = graph.inputs();
  return std::vector{graph.make_sequence(std::move(elements))};
}

Converted insert(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  size_t at = elements.size();
  if (node.has_input(2)) {
    BYOC_TRY(at, position(graph, node, 2, elements.size(), elements.size()));
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), graph.input(1));
  return std::vector{graph.make_sequence(std::move(elements))};
}

Converted erase(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  if (elements.empty()) return invalid("the sequence has no elements");
  size_t at = elements.size() - 1;
  if (node.has_input(1)) {
    BYOC_TRY(at, position(graph, node, 1, elements.size(), at));
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return std::vector{graph.make_sequence(std::move(elements))};
}

Converted element_at(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  if (elements.empty()) return invalid("the sequence has no elements");
  BYOC_TRY(size_t at, position(graph, node, 1, elements.size(), elements.size() - 1));
  return std::vector{elements[at]};
}

Converted length(Graph& graph, const OnnxNode&) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  const auto n = static_cast<int64_t>(elements.size());
  return std::vector{
      graph.constant({DType::kI64, {}}, Buffer::copy(std::as_bytes(std::span(&n, 1))))};
}

Converted concat(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  if (elements.empty()) return invalid("the sequence has no elements");
  const int64_t axis = node.i("axis", 0);
  if (node.i("new_axis", 0) != 0) {
    for (ValueId& element : elements)
      element = graph.call("unsqueeze", {element}, {{"axes", Ints{axis}}});
  }
  return std::vector{graph.call("concat", elements, {{"axis", axis}})};
}

// Returns the extents of the parts: the elements of `split`, or its one number repeated, of which
// the last may be smaller.
Result<Ints> parts_of(Graph& graph, const OnnxNode& node, Dim extent, bool& keeps_dim) {
  if (!extent.is_static())
    return unimplemented(cat("the extent of the axis must be known, it is ", extent));
  if (!node.has_input(1)) return Ints(static_cast<size_t>(extent.extent()), 1);
  keeps_dim = true;  // ONNX ignores keepdims then
  BYOC_TRY(Ints given, constant_ints(graph, node, 1, "split"));
  if (graph.rank(graph.input(1)) > 0) return given;
  if (given[0] < 1) return invalid(cat("its split is ", given[0], ", expected at least 1"));
  Ints parts;
  for (int64_t left = extent.extent(); left > 0; left -= given[0])
    parts.push_back(std::min(left, given[0]));
  return parts;
}

Converted split(Graph& graph, const OnnxNode& node) {
  const ValueId x = graph.input(0);
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", 0), graph.rank(x)));
  bool keeps_dim = node.i("keepdims", 1) != 0;
  BYOC_TRY(Ints parts, parts_of(graph, node, graph.type(x).shape[axis], keeps_dim));
  const auto at = static_cast<int64_t>(axis);
  Elements elements;
  if (parts.empty()) return std::vector{graph.make_sequence({})};
  const ValueId first = graph.call("split", {x}, {{"axis", at}, {"split", parts}});
  for (uint32_t k = 0; k < parts.size(); ++k) {
    ValueId part{first.node, k};
    if (!keeps_dim) part = graph.call("squeeze", {part}, {{"axes", Ints{at}}});
    elements.push_back(part);
  }
  return std::vector{graph.make_sequence(std::move(elements))};
}

constexpr Row kRows[] = {
    {"SequenceEmpty", 11, kNewest, construct},   {"SequenceConstruct", 11, kNewest, construct},
    {"SequenceInsert", 11, kNewest, insert},     {"SequenceErase", 11, kNewest, erase},
    {"SequenceAt", 11, kNewest, element_at},     {"SequenceLength", 11, kNewest, length},
    {"ConcatFromSequence", 11, kNewest, concat}, {"SplitToSequence", 11, kNewest, split},
};

}  // namespace

std::span<const Row> sequence_rows() { return kRows; }

}  // namespace byoc::onnx_import
