// SPDX-License-Identifier: Apache-2.0
// Constant, Range and Shape. Optionals are tensors, or absent.
#include <cmath>
#include <type_traits>

#include "byoc/ir/open_shape.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/computed.h"
#include "core/import/onnx/rows/range.h"
#include "core/import/onnx/rows/steps.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

/// Adds a rank-0 or rank-1 constant of `values`, the bytes of which are elements of `dtype`.
template <class T>
ValueId small_constant(Graph& graph, DType dtype, const std::vector<T>& values, bool is_scalar) {
  Shape shape;
  if (!is_scalar) shape.push_back(static_cast<int64_t>(values.size()));
  return graph.constant({dtype, shape}, Buffer::copy(std::as_bytes(std::span(values))));
}

std::vector<float> to_floats(const Floats& values) { return {values.begin(), values.end()}; }

/// Converts one of `value`, `value_float(s)`, `value_int(s)`; byoc has no type for strings and
/// sparse tensors.
Converted constant(Graph& graph, const OnnxNode& node) {
  if (node.has("value")) {
    BYOC_TRY(auto tensor, node.tensor("value"));
    ValueId value = graph.constant(tensor.first, std::move(tensor.second));
    return std::vector{graph.set_narrow(value, narrow_type(node.tensor_dtype("value")))};
  }
  if (node.has("value_int")) {
    return std::vector{small_constant(graph, DType::kI64, Ints{node.i("value_int", 0)}, true)};
  }
  if (node.has("value_ints")) {
    return std::vector{small_constant(graph, DType::kI64, node.ints("value_ints"), false)};
  }
  if (node.has("value_float")) {
    return std::vector{
        small_constant(graph, DType::kF32, to_floats({node.f("value_float", 0)}), true)};
  }
  if (node.has("value_floats")) {
    return std::vector{
        small_constant(graph, DType::kF32, to_floats(node.floats("value_floats")), false)};
  }
  return unimplemented("the constant is a string, a sparse tensor, or nothing");
}

// Returns the number of values start, start + delta, ... before the limit.
Result<int64_t> range_length(double start, double limit, double delta) {
  double n = std::ceil((limit - start) / delta);
  if (!(std::abs(n) < 0x1p53))
    return invalid(cat("the range from ", start, " to ", limit, " by ", delta, " has no length"));
  return static_cast<int64_t>(std::max(n, 0.0));
}

Result<int64_t> range_length(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return invalid("its delta is 0");
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  auto distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                            : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  auto step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
  uint64_t n = (distance - 1) / step + 1;
  if (n > INT64_MAX) return invalid("its length does not fit in 63 bits");
  return static_cast<int64_t>(n);
}

// Makes the values in T, which is f64 for float dtypes and i64 for integers, and casts the result
// to the dtype of the operands.
template <class T>
Converted make_range(Graph& graph, DType dtype, const std::vector<T>& operands) {
  BYOC_TRY(int64_t n, range_length(operands[0], operands[1], operands[2]));
  if (n > kMostComputed) return Status(Code::kOutOfRange, cat("its length ", n, " is beyond 2^24"));
  // unsigned, because k * delta alone may not fit where start is far below zero
  using Wrapping = std::conditional_t<std::is_same_v<T, double>, double, uint64_t>;
  const auto start = static_cast<Wrapping>(operands[0]), delta = static_cast<Wrapping>(operands[2]);
  std::vector<T> values;
  values.reserve(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k)
    values.push_back(static_cast<T>(start + static_cast<Wrapping>(k) * delta));
  DType wide = std::is_same_v<T, double> ? DType::kF64 : DType::kI64;
  ValueId range = small_constant(graph, wide, values, false);
  return std::vector{dtype == wide ? range : graph.call("cast", {range}, {{"to", dtype}})};
}

// Returns the most values that a range of integers has, whose limit is computed from sizes.
std::optional<int64_t> most_of_range(Graph& graph) {
  auto start = graph.const_ints(graph.input(0)), delta = graph.const_ints(graph.input(2));
  auto limit = graph.upper_bounds(graph.input(1));
  auto is_one = [](const std::optional<Ints>& values) { return values && values->size() == 1; };
  if (!is_one(start) || !is_one(delta) || !is_one(limit) || delta->front() <= 0) return {};
  auto length = range_length(start->front(), limit->front(), delta->front());
  return length.ok() ? std::optional(*length) : std::nullopt;
}

// Returns the name of the size: 0, 1, ... before a counted dim are as many.
std::string size_of_range(Graph& graph) {
  const std::optional<Dim> dim = graph.dim_of(graph.input(1));
  const bool counts_up = graph.const_ints(graph.input(0))->front() == 0 &&
                         graph.const_ints(graph.input(2))->front() == 1;
  return dim && dim->is_counted() && counts_up ? dim->name().str() : graph.new_size("range");
}

// Returns 0, 1, ... before an open size, or from another number on; nullopt for other ranges.
std::optional<ValueId> open_range(Graph& graph) {
  auto start = graph.const_ints(graph.input(0)), delta = graph.const_ints(graph.input(2));
  const std::optional<Dim> limit = graph.dim_of(graph.input(1));
  if (!start || start->size() != 1 || !delta || *delta != Ints{1} || !limit || !is_open(*limit) ||
      start->front() < 0 || start->front() > limit->min())
    return std::nullopt;
  const Result<Dim> cells = dim_difference(*limit, Dim(start->front()));
  const DType dtype = graph.type(graph.input(1)).dtype;
  if (!cells.ok() || (dtype != DType::kI64 && dtype != DType::kI32)) return std::nullopt;
  Attrs attrs{{"to", dtype}, {"start", start->front()}};
  set_open_shape(attrs, {*cells});
  return graph.call("iota", {}, attrs);
}

// Converts a range with computed operands.
Converted range_counted(Graph& graph) {
  if (auto open = open_range(graph)) return std::vector{*open};
  std::optional<int64_t> most = most_of_range(graph);
  if (!most) {
    std::string cures;
    for (size_t k = 0; k < 3; ++k) {
      const std::string cure = graph.cure(graph.input(k));
      if (cures.find(cure) == cures.npos) cures += cat(cures.empty() ? "" : "; ", cure);
    }
    return unimplemented(
               "its operands are computed at run time, and the length of its result has no upper "
               "bound that follows from sizes")
        .with_help(std::move(cures));
  }
  Attrs attrs{{"most", *most}, {"size", size_of_range(graph)}};
  return std::vector{graph.call("range", {graph.input(0), graph.input(1), graph.input(2)}, attrs)};
}

Converted range(Graph& graph, const OnnxNode&) {
  DType dtype = graph.type(graph.input(0)).dtype;
  Floats floats;
  Ints ints;
  for (size_t k = 0; k < 3; ++k) {
    if (auto values = graph.const_floats(graph.input(k)); values && values->size() == 1) {
      floats.push_back(values->front());
    } else if (auto whole = graph.const_ints(graph.input(k)); whole && whole->size() == 1) {
      ints.push_back(whole->front());
    } else {
      return range_counted(graph);
    }
  }
  if (floats.size() == 3) return make_range(graph, dtype, floats);
  if (ints.size() == 3) return make_range(graph, dtype, ints);
  return invalid("its operands are integers and floats");
}

// A tensor is an optional that has an element; an omitted operand has none.
Converted has_element(Graph& graph, const OnnxNode& node) {
  return std::vector{graph.scalar(DType::kBool, node.has_input(0) ? 1 : 0)};
}

Converted get_element(Graph& graph, const OnnxNode&) { return std::vector{graph.input(0)}; }

constexpr Row kConstantRows[] = {
    {"Constant", 1, kNewest, constant},
    {"Range", 11, kNewest, range},
    {"Shape", 1, kNewest, renamed<"shape">},
    {"OptionalHasElement", 15, kNewest, has_element},
    {"OptionalGetElement", 15, kNewest, get_element},
};

}  // namespace

ValueId counted_to(Graph& graph, Dim n) {
  if (n.is_static()) return counted(graph, n.extent());
  Attrs attrs{{"to", DType::kI64}};
  set_open_shape(attrs, {n});
  return graph.call("iota", {}, attrs);
}

ValueId extent_of(Graph& graph, ValueId x, int64_t dim) {
  const Dim extent = graph.type(x).shape[static_cast<size_t>(dim)];
  if (extent.is_static()) return graph.constant_ints({extent.extent()});
  return sliced(graph, graph.call("shape", {x}), 0, dim, dim + 1);
}

ValueId shaped_to(Graph& graph, const char* op, ValueId x, const Shape& shape) {
  Attrs attrs;
  if (is_static(shape)) attrs.set("shape", static_extents(shape));
  else set_open_shape(attrs, shape);
  if (is_static(shape) && op == std::string_view("reshape")) attrs.set("allow_zero", true);
  return graph.call(op, {x}, attrs);
}

std::span<const Row> constant_rows() { return kConstantRows; }

}  // namespace byoc::onnx_import
