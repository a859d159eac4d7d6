// SPDX-License-Identifier: Apache-2.0
// Products of quantised operands. QLinearConv and QLinearMatMul are products between dequantize and
// quantize, which plugins compute with integers. MatMulInteger is such a product, too, where f32
// has all its sums. All else is multiplied exactly in i32.
#include "core/import/onnx/rows/integer_products.h"

#include <algorithm>
#include <cmath>

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/cast.h"
#include "core/import/onnx/rows/conv.h"
#include "core/import/onnx/rows/quantize.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Adds the product of a and b in i32. `a_zero` has one value per row, `b_zero` one per column.
ValueId integer_product(Graph& graph, ValueId a, Value a_zero, ValueId b, Value b_zero) {
  size_t rows = graph.rank(a) < 2 ? 0 : graph.rank(a) - 2,
         columns = graph.rank(b) == 0 ? 0 : graph.rank(b) - 1;
  return graph.call("matmul",
                    {shifted(graph, a, a_zero, rows), shifted(graph, b, b_zero, columns)});
}

// Returns bounds of |x - zero_point|; the type's where elements are not known.
std::optional<double> largest_of(Graph& graph, const Integers& operand) {
  const DType dtype = graph.type(operand.x).dtype;
  if (graph.narrow(operand.x) || (dtype != DType::kU8 && dtype != DType::kI8)) return std::nullopt;
  const double most = dtype == DType::kU8 ? 255 : 128;
  return !operand.zero_point || is_zero(graph, *operand.zero_point) ? most : 255;
}

// Returns the largest sum of |b| in a column of b [.., k, n], a bound where elements are not known.
std::optional<double> column_sum(Graph& graph, const Integers& b) {
  const Shape shape = graph.type(b.x).shape;
  const std::optional<double> most = largest_of(graph, b);
  if (shape.size() < 2 || !is_static(shape) || !most) return std::nullopt;
  const auto columns = static_cast<size_t>(shape.back().extent());
  const bool is_plain = shape.size() == 2 && (!b.zero_point || is_zero(graph, *b.zero_point));
  std::optional<Ints> known = is_plain ? graph.const_ints(b.x) : std::nullopt;
  if (!known) return *most * static_cast<double>(shape[shape.size() - 2].extent());
  std::vector<double> sums(columns);
  for (size_t k = 0; k < known->size(); ++k)
    sums[k % columns] += std::abs(static_cast<double>((*known)[k]));
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

// Returns the integers of an operand as floats, by the op dequantize with a scale of one.
Value as_floats(Graph& graph, const Integers& operand, size_t axis) {
  ValueId scale = graph.scalar(DType::kF32, 1);
  const Shape x = graph.type(operand.x).shape;
  if (operand.zero_point) {
    const Shape zero = graph.type(*operand.zero_point).shape;
    if (zero.size() > 1 || !is_static(zero)) return std::nullopt;
    if (zero.size() == 1) {
      if (zero[0] != Dim(1) && (axis >= x.size() || zero[0] != x[axis])) return std::nullopt;
      scale = expanded(graph, scale, static_extents(zero));
    }
  }
  return as_dequantize(graph, operand.x, scale, operand.zero_point, Grains{axis, 0, x});
}

// Returns the floats of both operands of a product.
using Floats2 = std::optional<std::pair<ValueId, ValueId>>;
Floats2 as_floats2(Graph& graph, const Integers& a, size_t a_axis, const Integers& b,
                   size_t b_axis) {
  Value first = as_floats(graph, a, a_axis);
  Value second = first ? as_floats(graph, b, b_axis) : std::nullopt;
  if (!second) return std::nullopt;
  return std::pair(*first, *second);
}

// Returns the sums of the columns of a constant matrix as a constant of f32, which has them exactly
// where exact_product adds them; nullopt for other matrices. Sums of large ones are not folded.
Value constant_column_sums(Graph& graph, ValueId b) {
  const std::optional<Ints> values = graph.const_ints(b);
  const Shape& shape = graph.type(b).shape;
  if (!values || shape.size() != 2 || !is_static(shape)) return std::nullopt;
  const auto n = static_cast<size_t>(shape[1].extent());
  std::vector<float> sums(n);
  std::vector<int64_t> exact(n);
  for (size_t k = 0; k < values->size(); ++k) exact[k % n] += (*values)[k];
  std::copy(exact.begin(), exact.end(), sums.begin());
  return graph.constant({DType::kF32, {shape[1]}}, Buffer::copy(std::as_bytes(std::span(sums))));
}

// Adds (a - zero) b as a b - zero (sums of columns), so that the product is one of integers whose
// scales are known. Returns nothing where the zero point is not one value.
Value with_late_zero_point(Graph& graph, ValueId product, ValueId zero_point, ValueId b) {
  const Shape& shape = graph.type(zero_point).shape;
  if (!shape.empty() && shape != Shape{Dim(1)}) return std::nullopt;
  Value sums = constant_column_sums(graph, b);
  if (!sums)
    sums = graph.call("sum", {cast_to(graph, b, DType::kF32)},
                      {{"axes", Ints{0}}, {"keepdims", false}});
  ValueId shift = multiply(graph, cast_to(graph, zero_point, DType::kF32), *sums);
  return graph.call("subtract", {product, shift});
}

// Adds a product in f32, where f32 has each partial sum of it: integers of at most 2^24.
Value exact_product(Graph& graph, const Integers& a, const Integers& b) {
  const std::optional<double> most = largest_of(graph, a), sum = column_sum(graph, b);
  if (!most || !sum || *most * *sum > 0x1p24 || graph.rank(a.x) < 2) return std::nullopt;
  const size_t rank = graph.rank(b.x);
  const bool is_late = rank == 2 && a.zero_point && !graph.const_ints(*a.zero_point) &&
                       (!b.zero_point || is_zero(graph, *b.zero_point));
  Floats2 floats =
      as_floats2(graph, is_late ? Integers{a.x, {}} : a, graph.rank(a.x) - 2, b, rank - 1);
  if (!floats) return std::nullopt;
  Value product = graph.call("matmul", {floats->first, floats->second});
  if (is_late) product = with_late_zero_point(graph, *product, *a.zero_point, b.x);
  return product ? std::optional(cast_to(graph, *product, DType::kI32)) : std::nullopt;
}

}  // namespace

ValueId matmul_of_integers(Graph& graph, const Integers& a, const Integers& b) {
  if (Value y = exact_product(graph, a, b)) return *y;
  return integer_product(graph, a.x, a.zero_point, b.x, b.zero_point);
}

namespace {

Converted matmul_integer(Graph& graph, const OnnxNode&) {
  const Integers a{graph.input(0), graph.optional_input(2)};
  const Integers b{graph.input(1), graph.optional_input(3)};
  return std::vector{matmul_of_integers(graph, a, b)};
}

Converted conv_integer(Graph& graph, const OnnxNode& node) {
  ValueId x = shifted(graph, graph.input(0), graph.optional_input(2), 0);
  ValueId weight = shifted(graph, graph.input(1), graph.optional_input(3), 0);
  BYOC_TRY(ValueId y, add_conv(graph, node, x, weight));
  return std::vector{y};
}

// Scales an exact i32 product to the scale of y (inputs 6 and 7). Scales are f32, or f16.
Converted rescaled(Graph& graph, ValueId product, ValueId a_scale, ValueId b_scale) {
  ValueId scale =
      multiply(graph, cast_to(graph, a_scale, DType::kF32), cast_to(graph, b_scale, DType::kF32));
  ValueId real = multiply(graph, cast_to(graph, product, DType::kF32), scale);
  BYOC_TRY(ValueId y, quantized(graph, real, graph.input(6), graph.input(7), 0));
  return std::vector{y};
}

// Inputs 3 k to 3 k + 2 of a product: x, its scale and its zero point, as floats where the op
// dequantize computes them. `axis` is that of a scale per entry.
Value dequantized_operand(Graph& graph, size_t k, size_t axis) {
  ValueId x = graph.input(k), scale = graph.input(k + 1);
  const Shape &shape = graph.type(x).shape, &scales = graph.type(scale).shape;
  const bool is_single = scales.empty() || scales == Shape{Dim(1)};
  if (!is_single && (axis >= shape.size() || scales != Shape{shape[axis]})) return std::nullopt;
  return as_dequantize(graph, x, scale, graph.input(k + 2), Grains{is_single ? 0 : axis, 0, shape});
}

// Quantises a product of floats by inputs 6 and 7, the scale and the zero point of the result, each
// of which is one value.
Value quantized_result(Graph& graph, ValueId product) {
  ValueId scale = graph.input(6), zero_point = graph.input(7);
  const Shape& scales = graph.type(scale).shape;
  if (!scales.empty() && scales != Shape{Dim(1)}) return std::nullopt;
  return as_quantize(graph, product, scale, zero_point, Grains{0, 0, graph.type(product).shape},
                     {onnx_dtype_of(graph, zero_point)});
}

// The floats of a product's two operands, where the result can be quantised by the op, too.
Floats2 dequantized_operands(Graph& graph, size_t rows, size_t columns) {
  const NarrowType* narrow = graph.narrow(graph.input(7));
  const TensorType &scale = graph.type(graph.input(6)), &zero_point = graph.type(graph.input(7));
  if (narrow != nullptr || scale.dtype != DType::kF32 || scale.shape != zero_point.shape ||
      !(scale.shape.empty() || scale.shape == Shape{Dim(1)}) || !is_small_integer(zero_point.dtype))
    return std::nullopt;
  Value a = dequantized_operand(graph, 0, rows);
  Value b = a ? dequantized_operand(graph, 3, columns) : std::nullopt;
  if (!b) return std::nullopt;
  return std::pair(*a, *b);
}

Converted qlinear_matmul(Graph& graph, const OnnxNode&) {
  ValueId a = graph.input(0), b = graph.input(3);
  const size_t rows = graph.rank(a) < 2 ? 0 : graph.rank(a) - 2;
  const size_t columns = graph.rank(b) == 0 ? 0 : graph.rank(b) - 1;
  if (Floats2 floats = dequantized_operands(graph, rows, columns)) {
    ValueId product = graph.call("matmul", {floats->first, floats->second});
    if (Value y = quantized_result(graph, product)) return std::vector{*y};
  }
  ValueId product = integer_product(graph, a, graph.input(2), b, graph.input(5));
  return rescaled(graph, product, along(graph, graph.input(1), rows, graph.rank(a)),
                  graph.input(4));
}

// The bias is quantised with the product of both scales.
ValueId dequantized_bias(Graph& graph) {
  ValueId scale = multiply(graph, graph.input(1), graph.input(4));
  return graph.call("dequantize", {graph.input(8), scale}, {{"axis", int64_t{0}}});
}

Converted qlinear_conv(Graph& graph, const OnnxNode& node) {
  if (Floats2 floats = dequantized_operands(graph, 1, 0)) {
    BYOC_TRY(ValueId product, add_conv(graph, node, floats->first, floats->second));
    if (node.has_input(8)) product = add_bias(graph, product, dequantized_bias(graph));
    if (Value y = quantized_result(graph, product)) return std::vector{*y};
  }
  ValueId x = shifted(graph, graph.input(0), graph.input(2), 0);
  ValueId weight = shifted(graph, graph.input(3), graph.input(5), 0);
  BYOC_TRY(ValueId product, add_conv(graph, node, x, weight));
  if (node.has_input(8)) product = add_bias(graph, product, graph.input(8));
  ValueId weight_scale = along(graph, graph.input(4), 1, graph.rank(product));
  return rescaled(graph, product, graph.input(1), weight_scale);
}

constexpr Row kIntegerProductsRows[] = {
    {"MatMulInteger", 10, kNewest, matmul_integer},
    {"ConvInteger", 10, kNewest, conv_integer},
    {"QLinearMatMul", 10, kNewest, qlinear_matmul},
    {"QLinearConv", 10, kNewest, qlinear_conv},
};

}  // namespace

std::span<const Row> integer_products_rows() { return kIntegerProductsRows; }

}  // namespace byoc::onnx_import
