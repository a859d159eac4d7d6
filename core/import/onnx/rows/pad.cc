// SPDX-License-Identifier: Apache-2.0
// Pad. Computed pads become parts of concats:
//   before: y = Pad(x, [0, 0, 5 - n, 0])                        x f32[?n<=5,3], n of this run
//   after:  y = concat(x, expand_counted(0, [5 - n, 3])), whose first dim is 5
#include <algorithm>

#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/extents.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Returns pads of the named axes as pads of all axes.
Result<Ints> spread_pads(const Ints& pads, const Ints& axes, size_t rank) {
  if (pads.size() != 2 * axes.size()) {
    return invalid(cat("pads has ", pads.size(), " entries, expected ", 2 * axes.size()));
  }
  Ints all(2 * rank, 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    BYOC_TRY(size_t axis, normal_axis(axes[k], rank));
    all[axis] = pads[k];
    all[rank + axis] = pads[axes.size() + k];
  }
  return all;
}

// Returns the single element of input k as a float; 0 when it is absent.
Result<double> pad_value(Graph& graph, const OnnxNode& node, size_t k) {
  if (!node.has_input(k)) return 0.0;
  auto floats = graph.const_floats(graph.input(k));
  auto ints = floats ? std::nullopt : graph.const_ints(graph.input(k));
  if (!floats && !ints) return computed_operand(graph, graph.input(k), "constant_value");
  if ((floats ? floats->size() : ints->size()) != 1) {
    return invalid("its input \"constant_value\" must have one element");
  }
  if (floats) return floats->front();
  constexpr int64_t kExact = int64_t{1} << 53;
  if (ints->front() <= kExact && ints->front() >= -kExact)
    return static_cast<double>(ints->front());
  return unimplemented(cat("its input \"constant_value\" is ", ints->front(), ", beyond 2^53"));
}

// Pads of one axis.
struct AxisPads {
  size_t axis;
  size_t begin, end;  // their entries in the operand
};

// Returns the cells that the entry `at` of `pads` adds to one axis of x.
Converted padding(Graph& graph, ValueId x, ValueId value, ValueId pads, size_t axis, size_t at) {
  const ValueId dims = graph.call("shape", {x});
  const auto slice = [&](size_t from, size_t to) {
    return sliced(graph, dims, 0, static_cast<int64_t>(from), static_cast<int64_t>(to));
  };
  const ValueId cells =
      graph.call("gather", {pads, graph.constant_ints({static_cast<int64_t>(at)})}, {{"axis", 0}});
  const ValueId target =
      concatenated(graph, {slice(0, axis), cells, slice(axis + 1, graph.rank(x))}, 0);
  return expand_to(graph, value, target, "pads");
}

// Returns the dim of a padded axis, when the pads fill it up to a number.
std::optional<int64_t> filled_extent(Dim dim, const SizeEntry& begin, const SizeEntry& end) {
  const bool is_end = end.minus == dim && begin.number, is_begin = begin.minus == dim && end.number;
  if (is_end) return end.offset + *begin.number;
  return is_begin ? std::optional(begin.offset + *end.number) : std::nullopt;
}

Converted pad_axis(Graph& graph, ValueId x, ValueId value, ValueId pads, const AxisPads& at) {
  const std::vector<SizeEntry> entries = graph.size_entries(pads);
  const Dim dim = graph.type(x).shape[at.axis];
  std::vector<ValueId> parts;
  for (size_t entry : {at.begin, at.end}) {
    if (entry == at.end) parts.push_back(x);
    if (entries[entry].number == 0) continue;
    if (!entries[entry].most) return computed_operand(graph, pads, "pads", "bounded ones");
    BYOC_TRY(std::vector<ValueId> part, padding(graph, x, value, pads, at.axis, entry));
    parts.push_back(part[0]);
  }
  if (parts.size() == 1) return std::vector{x};
  ValueId y = concatenated(graph, parts, static_cast<int64_t>(at.axis));
  const auto extent = filled_extent(dim, entries[at.begin], entries[at.end]);
  if (!extent || *extent < 0) return std::vector{y};
  Strings names;
  Ints most;
  const Shape shape = graph.type(y).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_number = d == at.axis || shape[d].is_static();
    names.push_back(is_number ? std::string() : shape[d].name().str());
    most.push_back(d == at.axis ? *extent : shape[d].max());
  }
  return std::vector{graph.call("as_counted", {y}, {{"dims", names}, {"most", most}})};
}

// Converts a pad whose pads are computed.
Converted pad_computed(Graph& graph, const OnnxNode& node, const Ints& axes) {
  ValueId x = graph.input(0), pads = graph.input(1);
  if (node.s("mode", "constant") != "constant") return computed_operand(graph, pads, "pads");
  ValueId value = graph.scalar(graph.type(x).dtype, 0);
  if (node.has_input(2)) value = reshaped(graph, graph.input(2), {});
  const size_t n = axes.size();
  if (graph.size_entries(pads).size() != 2 * n)
    return invalid(cat("pads is ", graph.type(pads), ", expected ", 2 * n, " entries"));
  pads = cast_to(graph, pads, DType::kI64);
  for (size_t k = 0; k < n; ++k) {
    BYOC_TRY(size_t axis, normal_axis(axes[k], graph.rank(x)));
    BYOC_TRY(std::vector<ValueId> padded, pad_axis(graph, x, value, pads, {axis, k, n + k}));
    x = padded[0];
  }
  return std::vector{x};
}

Converted pad(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  bool by_attr = node.opset() <= 10;
  const char* name = node.opset() == 1 ? "paddings" : "pads";
  Ints axes;
  const bool has_axes = node.opset() >= 18 && node.has_input(3);
  if (has_axes) {
    BYOC_TRY(axes, constant_ints(graph, node, 3, "axes"));
  }
  if (!by_attr && node.has_input(1) && !graph.const_ints(graph.input(1))) {
    for (size_t d = 0; !has_axes && d < graph.rank(x); ++d) axes.push_back(static_cast<int64_t>(d));
    return pad_computed(graph, node, axes);
  }
  BYOC_TRY(Ints pads, ints_attr_or_input(graph, node, name, 10, 1));
  if (has_axes) {
    BYOC_TRY(pads, spread_pads(pads, axes, graph.rank(x)));
  }
  BYOC_TRY(double value, by_attr ? Result<double>(node.f("value", 0)) : pad_value(graph, node, 2));
  Attrs attrs{{"pads", pads}, {"mode", node.s("mode", "constant")}, {"value", value}};
  return std::vector{graph.call("pad", {x}, attrs)};
}

constexpr Row kPadRows[] = {{"Pad", 1, kNewest, pad}};

}  // namespace

std::span<const Row> pad_rows() { return kPadRows; }

}  // namespace byoc::onnx_import
