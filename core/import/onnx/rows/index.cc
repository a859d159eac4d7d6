// SPDX-License-Identifier: Apache-2.0
// The families of Gather and Scatter, and OneHot; ops whose results are as large as their operands'
// elements demand.
#include <algorithm>

#include "byoc/ir/dim.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Checks constant indices, so that a wrong one is an error of the import and not of the first run.
Status check_constant_indices(Graph& graph, ValueId indices, Dim extent) {
  auto values = graph.const_ints(indices);
  if (!values || !extent.is_static()) return {};
  for (int64_t index : *values) {
    if (index >= -extent.extent() && index < extent.extent()) continue;
    return invalid(cat("index ", index, " is outside of a dim of ", extent, " entries"));
  }
  return {};
}

// Converts Gather, GatherElements, Scatter, ScatterElements: x, indices, updates for the last two,
// along an axis.
template <OpName op>
Converted along_axis(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", 0), graph.rank(x)));
  BYOC_TRY_STATUS(check_constant_indices(graph, graph.input(1), graph.type(x).shape[axis]));
  return call_same_op(graph, node, op.text);
}

/// Entries at first, first + step, ...
struct Progression {
  int64_t first = 0, step = 1, count = 1;
};

// Returns the entries of a dim that constant indices name, where they rise evenly. Of an open dim
// these are entries that it has in every run, from the front.
std::optional<Progression> progression_of(const Ints& indices, Dim dim) {
  const bool is_inside =
      dim.is_static() || (is_open(dim) && std::ranges::all_of(indices, [&](auto k) {
                            return k >= 0 && k < dim.min();
                          }));
  if (indices.empty() || !is_inside) return std::nullopt;
  auto entry = [&](size_t k) { return indices[k] < 0 ? indices[k] + dim.extent() : indices[k]; };
  Progression out{entry(0), 1, static_cast<int64_t>(indices.size())};
  if (indices.size() > 1) out.step = entry(1) - entry(0);
  for (size_t k = 1; k < indices.size(); ++k) {
    if (entry(k) - entry(k - 1) != out.step || out.step < 1) return std::nullopt;
  }
  return out;
}

// Gathers entries at evenly rising constant indices as a slice, which fuses with what reads it and
// has no index to check when it runs.
Converted gather(Graph& graph, const OnnxNode& node) {
  const ValueId x = graph.input(0);
  const TensorType type = graph.type(x);
  const size_t rank_of_indices = graph.rank(graph.input(1));
  const auto indices = graph.const_ints(graph.input(1));
  BYOC_TRY(const size_t axis, normal_axis(node.i("axis", 0), type.shape.size()));
  // tensors of one dim are mostly shapes, which are folded
  if (!indices || rank_of_indices > 1 || type.shape.size() < 2)
    return along_axis<"gather">(graph, node);
  BYOC_TRY_STATUS(check_constant_indices(graph, graph.input(1), type.shape[axis]));
  const auto entries = progression_of(*indices, type.shape[axis]);
  if (!entries) return along_axis<"gather">(graph, node);
  const auto at = static_cast<int64_t>(axis);
  const int64_t end = entries->first + (entries->count - 1) * entries->step + 1;
  ValueId y = graph.call("slice", {x},
                         {{"starts", Ints{entries->first}},
                          {"ends", Ints{end}},
                          {"axes", Ints{at}},
                          {"steps", Ints{entries->step}}});
  if (rank_of_indices == 0) y = graph.call("squeeze", {y}, {{"axes", Ints{at}}});
  return std::vector{y};
}

// Returns the single value of input k, which may have any numeric type.
Result<int64_t> constant_number(Graph& graph, const OnnxNode& node, size_t k, const char* what) {
  if (!node.has_input(k)) return invalid(cat("its input \"", what, "\" is missing"));
  if (auto floats = graph.const_floats(graph.input(k)); floats && floats->size() == 1) {
    return static_cast<int64_t>(floats->front());
  }
  BYOC_TRY(Ints values, constant_ints(graph, node, k, what));
  if (values.size() == 1) return values[0];
  return invalid(cat("its input \"", what, "\" has ", values.size(), " elements, expected 1"));
}

Converted one_hot(Graph& graph, const OnnxNode& node) {
  ValueId indices = graph.input(0);
  BYOC_TRY(int64_t depth, constant_number(graph, node, 1, "depth"));
  DType dtype = graph.type(indices).dtype;
  if (dtype != DType::kI32 && dtype != DType::kI64)
    indices = graph.call("cast", {indices}, {{"to", DType::kI64}});
  Attrs attrs{{"depth", depth}, {"axis", node.i("axis", -1)}};
  return std::vector{graph.call("one_hot", {indices, graph.input(2)}, attrs)};
}

Converted nonzero(Graph& graph, const OnnxNode&) {
  return std::vector{
      graph.call("nonzero", {graph.input(0)}, {{"size", graph.new_size("nonzero")}})};
}

Converted compress(Graph& graph, const OnnxNode& node) {
  Attrs attrs{{"size", graph.new_size("compress")}};
  if (node.has("axis")) attrs.set("axis", node.i("axis", 0));
  return std::vector{graph.call("compress", {graph.input(0), graph.input(1)}, attrs)};
}

Converted unique(Graph& graph, const OnnxNode& node) {
  Attrs attrs{{"sorted", node.i("sorted", 1) != 0}, {"size", graph.new_size("unique")}};
  if (node.has("axis")) attrs.set("axis", node.i("axis", 0));
  ValueId y = graph.call("unique", {graph.input(0)}, attrs);
  return std::vector{y, ValueId{y.node, 1}, ValueId{y.node, 2}, ValueId{y.node, 3}};
}

Converted non_max_suppression(Graph& graph, const OnnxNode& node) {
  Attrs attrs{{"center_point_box", node.i("center_point_box", 0) != 0},
              {"size", graph.new_size("non_max_suppression")}};
  auto or_zero = [&](size_t k, DType dtype) {
    return node.has_input(k) ? graph.input(k) : graph.scalar(dtype, 0);
  };
  std::vector<ValueId> args = {graph.input(0), graph.input(1), or_zero(2, DType::kI64),
                               or_zero(3, DType::kF32)};
  if (node.has_input(4)) args.push_back(graph.input(4));
  if (auto most = graph.const_ints(args[2]); most && most->size() == 1)
    attrs.set("most_per_class", std::max<int64_t>(most->front(), 0));
  return std::vector{graph.call("non_max_suppression", args, attrs)};
}

constexpr Row kIndexRows[] = {
    {"Gather", 1, kNewest, gather},
    {"GatherElements", 11, kNewest, along_axis<"gather_elements">},
    {"GatherND", 11, kNewest, renamed<"gather_nd">},
    {"Scatter", 9, 10, along_axis<"scatter_elements">},
    {"ScatterElements", 11, kNewest, along_axis<"scatter_elements">},
    {"ScatterND", 11, kNewest, renamed<"scatter_nd">},
    {"OneHot", 9, kNewest, one_hot},
    {"NonZero", 9, kNewest, nonzero},
    {"Unique", 11, kNewest, unique},
    {"Compress", 9, kNewest, compress},
    {"NonMaxSuppression", 10, kNewest, non_max_suppression},
};

}  // namespace

std::span<const Row> index_rows() { return kIndexRows; }

}  // namespace byoc::onnx_import
