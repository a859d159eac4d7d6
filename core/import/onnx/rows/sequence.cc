// SPDX-License-Identifier: Apache-2.0
// Sequences that are known while reading: lists of values, which leave no ops, and the rows of a
// tensor, which a loop has stacked. Rows are as many as a run counts.
#include <algorithm>

#include "core/import/onnx/operands.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

using Elements = std::vector<ValueId>;

Result<Sequence> sequence_of(Graph& graph, size_t k) {
  const ValueId value = graph.input(k);
  if (const Sequence* sequence = graph.sequence(value)) return *sequence;
  return invalid(cat("input ", k, " is ", graph.type(value), ", expected a sequence"));
}

// Returns the elements one by one, if their number is known.
Result<Elements> elements_of(Graph& graph, size_t k) {
  constexpr int64_t kMost = 1024;  // more would be as many ops
  BYOC_TRY(Sequence sequence, sequence_of(graph, k));
  if (!sequence.rows) return std::move(sequence.elements);
  const Dim n = graph.type(*sequence.rows).shape[0];
  if (!n.is_static() || n.extent() > kMost)
    return unimplemented(cat("the number of elements of the sequence is ", n,
                             "; this operator needs a number of at most ", kMost));
  if (n.extent() == 0) return Elements{};
  const Ints ones(static_cast<size_t>(n.extent()), 1);
  const ValueId first = graph.call("split", {*sequence.rows}, {{"axis", 0}, {"split", ones}});
  Elements out;
  for (uint32_t row = 0; row < ones.size(); ++row)
    out.push_back(graph.call("squeeze", {ValueId{first.node, row}}, {{"axes", Ints{0}}}));
  return out;
}

// Returns a tensor whose rows are the elements, which have one shape.
Result<ValueId> rows_of(Graph& graph, size_t k) {
  BYOC_TRY(Sequence sequence, sequence_of(graph, k));
  if (sequence.rows) return *sequence.rows;
  if (sequence.elements.empty()) return invalid("the sequence has no elements");
  const TensorType first = graph.type(sequence.elements[0]);
  for (ValueId& element : sequence.elements) {
    if (!(graph.type(element) == first))
      return unimplemented("position is computed, and the elements have different types");
    element = graph.call("unsqueeze", {element}, {{"axes", Ints{0}}});
  }
  return graph.call("concat", sequence.elements, {{"axis", 0}});
}

ValueId list(Graph& graph, Elements elements) {
  return graph.make_sequence({std::move(elements), {}});
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
  return std::vector{list(graph, std::move(elements))};
}

Converted insert(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  size_t at = elements.size();
  if (node.has_input(2)) {
    BYOC_TRY(at, position(graph, node, 2, elements.size(), elements.size()));
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), graph.input(1));
  return std::vector{list(graph, std::move(elements))};
}

Converted erase(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Elements elements, elements_of(graph, 0));
  if (elements.empty()) return invalid("the sequence has no elements");
  size_t at = elements.size() - 1;
  if (node.has_input(1)) {
    BYOC_TRY(at, position(graph, node, 1, elements.size(), at));
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return std::vector{list(graph, std::move(elements))};
}

Converted element_at(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Sequence sequence, sequence_of(graph, 0));
  if (sequence.rows || !graph.const_ints(graph.input(1))) {
    BYOC_TRY(ValueId rows, rows_of(graph, 0));
    const ValueId at = graph.call("reshape", {graph.input(1)}, {{"shape", Ints{}}});
    return std::vector{graph.call("gather", {rows, at}, {{"axis", 0}})};
  }
  const Elements& elements = sequence.elements;
  if (elements.empty()) return invalid("the sequence has no elements");
  BYOC_TRY(size_t at, position(graph, node, 1, elements.size(), elements.size() - 1));
  return std::vector{elements[at]};
}

Converted length(Graph& graph, const OnnxNode&) {
  BYOC_TRY(Sequence sequence, sequence_of(graph, 0));
  if (sequence.rows) {
    const ValueId zero = graph.scalar(DType::kI64, 0);
    return std::vector{
        graph.call("gather", {graph.call("shape", {*sequence.rows}), zero}, {{"axis", 0}})};
  }
  const auto n = static_cast<int64_t>(sequence.elements.size());
  return std::vector{
      graph.constant({DType::kI64, {}}, Buffer::copy(std::as_bytes(std::span(&n, 1))))};
}

// Concatenates the rows of a tensor [n, ...]: they become the dim `axis`, next to the dim of that
// number, into which they are merged unless it is a new one.
Converted concat_rows(Graph& graph, const OnnxNode& node, ValueId rows) {
  const bool is_new = node.i("new_axis", 0) != 0;
  const size_t rank = graph.rank(rows);
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", 0), is_new ? rank : rank - 1));
  Ints perm, merged;
  for (size_t d = 1; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  if (axis > 0) rows = graph.call("transpose", {rows}, {{"perm", perm}});
  if (is_new) return std::vector{rows};
  for (size_t d = 0; d + 1 < rank; ++d) {
    const Dim dim = graph.type(rows).shape[d + 1];
    if (d > axis && !dim.is_static())
      return unimplemented(cat("dim ", d, " of the elements is ", dim, ", expected a number"));
    merged.push_back(d < axis ? 0 : d == axis ? -1 : dim.extent());
  }
  return std::vector{graph.call("reshape", {rows}, {{"shape", merged}})};
}

Converted concat_sequence(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Sequence sequence, sequence_of(graph, 0));
  if (sequence.rows) return concat_rows(graph, node, *sequence.rows);
  Elements& elements = sequence.elements;
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

Converted split_to_sequence(Graph& graph, const OnnxNode& node) {
  const ValueId x = graph.input(0);
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", 0), graph.rank(x)));
  bool keeps_dim = node.i("keepdims", 1) != 0;
  BYOC_TRY(Ints parts, parts_of(graph, node, graph.type(x).shape[axis], keeps_dim));
  const auto at = static_cast<int64_t>(axis);
  Elements elements;
  if (parts.empty()) return std::vector{list(graph, {})};
  const ValueId first = graph.call("split", {x}, {{"axis", at}, {"split", parts}});
  for (uint32_t k = 0; k < parts.size(); ++k) {
    ValueId part{first.node, k};
    if (!keeps_dim) part = graph.call("squeeze", {part}, {{"axes", Ints{at}}});
    elements.push_back(part);
  }
  return std::vector{list(graph, std::move(elements))};
}

constexpr Row kSequenceRows[] = {
    {"SequenceEmpty", 11, kNewest, construct},
    {"SequenceConstruct", 11, kNewest, construct},
    {"SequenceInsert", 11, kNewest, insert},
    {"SequenceErase", 11, kNewest, erase},
    {"SequenceAt", 11, kNewest, element_at},
    {"SequenceLength", 11, kNewest, length},
    {"ConcatFromSequence", 11, kNewest, concat_sequence},
    {"SplitToSequence", 11, kNewest, split_to_sequence},
};

}  // namespace

std::span<const Row> sequence_rows() { return kSequenceRows; }

}  // namespace byoc::onnx_import
