// SPDX-License-Identifier: Apache-2.0
// Products of com.microsoft of integers of 8 bits. Those with known scales are products between
// dequantize and quantize; where each run finds the scale of its input, they are products of
// integers that are scaled afterwards, as DynamicQuantizeLinear and MatMulInteger are.
#include "core/import/onnx/microsoft/quantized_products.h"

#include "core/import/onnx/rows/integer_products.h"
#include "core/import/onnx/rows/quantize.h"
#include "core/import/onnx/rows/recurrent.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// The place of a value per column in the shape of b.
size_t columns_of(Graph& graph, ValueId b) { return graph.rank(b) == 0 ? 0 : graph.rank(b) - 1; }

bool has_known_scale(Graph& graph, const Quantized& a) {
  return graph.const_floats(a.scale) && is_one_value(graph, a.scale) &&
         (!a.zero_point || graph.const_ints(*a.zero_point));
}

// Adds the exact product, which is scaled afterwards.
ValueId scaled_product(Graph& graph, const Quantized& a, const Quantized& b) {
  ValueId product = matmul_of_integers(graph, {a.x, a.zero_point}, {b.x, b.zero_point});
  ValueId scale =
      multiply(graph, cast_to(graph, a.scale, DType::kF32), cast_to(graph, b.scale, DType::kF32));
  return multiply(graph, cast_to(graph, product, DType::kF32), scale);
}

Converted matmul_integer_to_float(Graph& graph, const OnnxNode&) {
  const Quantized a{graph.input(0), graph.input(2), graph.optional_input(4)};
  const Quantized b{graph.input(1), graph.input(3), graph.optional_input(5)};
  BYOC_TRY(ValueId y, product_of_quantized(graph, a, b, graph.optional_input(6)));
  return std::vector{y};
}

Converted dynamic_quantize_matmul(Graph& graph, const OnnxNode&) {
  BYOC_TRY(DynamicIntegers a, dynamically_quantized(graph, graph.input(0)));
  const Quantized b{graph.input(1), graph.input(2), graph.optional_input(3)};
  ValueId y = scaled_product(graph, {a.x, a.scale, a.zero_point}, b);
  if (Value bias = graph.optional_input(4)) y = add(graph, y, *bias);
  return std::vector{y};
}

// Returns input 6 as real numbers. Its scale is alpha times those of a and b.
Result<ValueId> gemm_bias(Graph& graph, ValueId bias, double alpha) {
  ValueId scale = multiply(graph, graph.input(1), graph.input(4));
  if (alpha != 1) scale = multiply(graph, scale, graph.scalar(DType::kF32, alpha));
  const Shape& shape = graph.type(bias).shape;
  const bool fits = is_one_value(graph, scale) ||
                    (!shape.empty() && Shape{shape.back()} == graph.type(scale).shape);
  if (!fits) return multiply(graph, cast_to(graph, bias, DType::kF32), scale);
  return dequantized(graph, {bias, scale, {}, static_cast<int64_t>(columns_of(graph, bias))});
}

// The result is f32, unless it has a scale.
Converted qgemm(Graph& graph, const OnnxNode& node) {
  const bool trans_b = node.i("transB", 0) != 0;
  const double alpha = node.f("alpha", 1);
  BYOC_TRY(ValueId a, dequantized(graph, quantized_input(graph, 0)));
  Quantized weight = quantized_input(graph, 3);
  weight.axis = trans_b ? 0 : 1;
  BYOC_TRY(ValueId b, dequantized(graph, weight));
  ValueId y =
      graph.call("gemm", {a, b},
                 {{"trans_a", node.i("transA", 0) != 0}, {"trans_b", trans_b}, {"alpha", alpha}});
  if (Value bias = graph.optional_input(6)) {
    BYOC_TRY(ValueId more, gemm_bias(graph, *bias, alpha));
    y = add(graph, y, more);
  }
  if (Value scale = graph.optional_input(7)) {
    BYOC_TRY(y, requantized(graph, y, *scale, graph.optional_input(8),
                            graph.type(graph.input(0)).dtype));
  }
  return std::vector{y};
}

// Returns a matrix [directions, k, gates * hidden] as f32 and transposed. Its scale and zero point
// are one per direction, or one per column of it.
Result<ValueId> recurrent_matrix(Graph& graph, size_t matrix, size_t scale) {
  const TensorType type = graph.type(graph.input(matrix));
  if (type.shape.size() != 3 || !is_static(type.shape))
    return invalid(cat("input ", matrix, " is ", type, ", expected rank 3 and known sizes"));
  auto spread_of = [&](size_t input) -> Result<ValueId> {
    ValueId value = cast_to(graph, graph.input(input), DType::kF32);
    const Shape& given = graph.type(value).shape;
    const Shape one{type.shape[0]}, each{type.shape[0], type.shape[2]};
    if (given != one && given != each)
      return invalid(
          cat("input ", input, " is ", graph.type(value), ", expected shape ", one, " or ", each));
    return unsqueezed(graph, value, given == one ? Ints{1, 2} : Ints{1});
  };
  BYOC_TRY(ValueId factor, spread_of(scale));
  ValueId x = cast_to(graph, graph.input(matrix), DType::kF32);
  if (graph.optional_input(scale + 1)) {
    BYOC_TRY(ValueId zero, spread_of(scale + 1));
    x = graph.call("subtract", {x, zero});
  }
  return transposed(graph, multiply(graph, x, factor), {0, 2, 1});
}

// ONNX Runtime also rounds the rows that it multiplies, by the range of all rows of a call, so that
// its results depend on the number of its threads. That rounding is left out.
Converted dynamic_quantize_lstm(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId w, recurrent_matrix(graph, 1, 8));
  BYOC_TRY(ValueId r, recurrent_matrix(graph, 2, 10));
  return lstm_of(graph, node, {w, r});
}

constexpr Row kQuantizedProductsRows[] = {
    {"DynamicQuantizeLSTM", 1, 1, dynamic_quantize_lstm},
    {"DynamicQuantizeMatMul", 1, 1, dynamic_quantize_matmul},
    {"MatMulIntegerToFloat", 1, 1, matmul_integer_to_float},
    {"QGemm", 1, 1, qgemm},
};

}  // namespace

Result<ValueId> product_of_quantized(Graph& graph, const Quantized& a, const Quantized& b,
                                     Value bias) {
  const DType to = graph.type(a.scale).dtype;
  Value y;
  if (to == DType::kF32 && has_known_scale(graph, a)) {
    Quantized weight = b;
    weight.axis = static_cast<int64_t>(columns_of(graph, b.x));
    BYOC_TRY(ValueId left, dequantized(graph, a));
    BYOC_TRY(ValueId right, dequantized(graph, weight));
    y = graph.call("matmul", {left, right});
  } else {
    y = cast_to(graph, scaled_product(graph, a, b), to);
  }
  return bias ? add(graph, *y, *bias) : *y;
}

std::span<const Row> microsoft_quantized_products_rows() { return kQuantizedProductsRows; }

}  // namespace byoc::onnx_import
