// SPDX-License-Identifier: Apache-2.0
// Quantised ops, converted into their steps: integers are shifted by their zero points, multiplied
// exactly in i32, scaled as floats, rounded and clipped.
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/conv.h"

namespace byoc::onnx_import {
namespace {

ValueId cast(Graph& graph, ValueId x, DType to) {
  return graph.type(x).dtype == to ? x : graph.call("cast", {x}, {{"to", to}});
}

// Reshapes a list of one value per entry of dim `axis` so that it broadcasts to rank `rank`, and
// returns other values as they are. A list for a scalar is reshaped to one, an error of reshape.
ValueId along(Graph& graph, ValueId list, size_t axis, size_t rank) {
  if (graph.rank(list) != 1 || graph.type(list).shape[0] == Dim(1)) return list;
  Ints shape(rank > axis ? rank - axis : 0, 1);
  if (!shape.empty()) shape[0] = -1;
  return graph.call("reshape", {list}, {{"shape", shape}});
}

// Adds x - zero_point in i32; `zero_point` may be absent.
ValueId shifted(Graph& graph, ValueId x, Value zero_point, size_t axis) {
  ValueId wide = cast(graph, x, DType::kI32);
  if (!zero_point) return wide;
  ValueId zero = along(graph, cast(graph, *zero_point, DType::kI32), axis, graph.rank(x));
  return graph.call("subtract", {wide, zero});
}

// Adds clip(round(x / scale) + zero_point); without a zero point the result is u8.
Result<ValueId> quantized(Graph& graph, ValueId x, ValueId scale, Value zero_point, size_t axis) {
  DType to = zero_point ? graph.type(*zero_point).dtype : DType::kU8;
  if (to != DType::kU8 && to != DType::kI8)
    return unimplemented(cat("quantising to ", to, " is not supported"));
  size_t rank = graph.rank(x);
  ValueId y = graph.call("divide", {cast(graph, x, DType::kF32), along(graph, scale, axis, rank)});
  y = graph.call("round", {y});
  if (zero_point)
    y = graph.call("add", {y, along(graph, cast(graph, *zero_point, DType::kF32), axis, rank)});
  y = graph.call(
      "clip", {y},
      {{"min", to == DType::kU8 ? 0.0 : -128.0}, {"max", to == DType::kU8 ? 255.0 : 127.0}});
  return graph.call("cast", {y}, {{"to", to}});
}

// Returns the axis of per-axis scales. A wrong axis is an error only if there are such scales.
Result<size_t> scale_axis(Graph& graph, const OnnxNode& node) {
  bool per_axis = graph.rank(graph.input(1)) == 1 && graph.type(graph.input(1)).shape[0] != Dim(1);
  if (!per_axis) return size_t{0};
  return normal_axis(node.i("axis", 1), graph.rank(graph.input(0)));
}

Converted quantize_linear(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(size_t axis, scale_axis(graph, node));
  BYOC_TRY(ValueId y,
           quantized(graph, graph.input(0), graph.input(1), graph.optional_input(2), axis));
  return std::vector{y};
}

Converted dequantize_linear(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(size_t axis, scale_axis(graph, node));
  ValueId x = graph.input(0), scale = graph.input(1);
  ValueId y =
      cast(graph, shifted(graph, x, graph.optional_input(2), axis), graph.type(scale).dtype);
  return std::vector{graph.call("multiply", {y, along(graph, scale, axis, graph.rank(x))})};
}

// Quantises the range [min(x, 0), max(x, 0)] in 255 steps.
Converted dynamic_quantize_linear(Graph& graph, const OnnxNode&) {
  ValueId x = graph.input(0), zero = graph.scalar(DType::kF32, 0);
  Attrs all{{"keepdims", false}};
  ValueId high = graph.call("maximum", {graph.call("max", {x}, all), zero});
  ValueId low = graph.call("minimum", {graph.call("min", {x}, all), zero});
  ValueId scale =
      graph.call("divide", {graph.call("subtract", {high, low}), graph.scalar(DType::kF32, 255)});
  ValueId start = graph.call("negative", {graph.call("divide", {low, scale})});
  ValueId zero_point =
      graph.call("clip", {graph.call("round", {start})}, {{"min", 0.0}, {"max", 255.0}});
  zero_point = graph.call("cast", {zero_point}, {{"to", DType::kU8}});
  BYOC_TRY(ValueId y, quantized(graph, x, scale, zero_point, 0));
  return std::vector{y, scale, zero_point};
}

// Adds the product of a and b in i32. `a_zero` has one value per row, `b_zero` one per column.
ValueId integer_product(Graph& graph, ValueId a, Value a_zero, ValueId b, Value b_zero) {
  size_t rows = graph.rank(a) < 2 ? 0 : graph.rank(a) - 2,
         columns = graph.rank(b) == 0 ? 0 : graph.rank(b) - 1;
  return graph.call("matmul",
                    {shifted(graph, a, a_zero, rows), shifted(graph, b, b_zero, columns)});
}

Converted matmul_integer(Graph& graph, const OnnxNode&) {
  return std::vector{integer_product(graph, graph.input(0), graph.optional_input(2), graph.input(1),
                                     graph.optional_input(3))};
}

Converted conv_integer(Graph& graph, const OnnxNode& node) {
  ValueId x = shifted(graph, graph.input(0), graph.optional_input(2), 0);
  ValueId weight = shifted(graph, graph.input(1), graph.optional_input(3), 0);
  BYOC_TRY(ValueId y, add_conv(graph, node, x, weight));
  return std::vector{y};
}

// Scales an exact i32 product to the scale of y (inputs 6 and 7).
Converted rescaled(Graph& graph, ValueId product, ValueId a_scale, ValueId b_scale) {
  ValueId scale = graph.call("multiply", {a_scale, b_scale});
  ValueId real = graph.call("multiply", {cast(graph, product, DType::kF32), scale});
  BYOC_TRY(ValueId y, quantized(graph, real, graph.input(6), graph.input(7), 0));
  return std::vector{y};
}

Converted qlinear_matmul(Graph& graph, const OnnxNode&) {
  ValueId a = graph.input(0), b = graph.input(3);
  ValueId product = integer_product(graph, a, graph.input(2), b, graph.input(5));
  size_t rows = graph.rank(a) < 2 ? 0 : graph.rank(a) - 2;
  return rescaled(graph, product, along(graph, graph.input(1), rows, graph.rank(a)),
                  graph.input(4));
}

Converted qlinear_conv(Graph& graph, const OnnxNode& node) {
  ValueId x = shifted(graph, graph.input(0), graph.input(2), 0);
  ValueId weight = shifted(graph, graph.input(3), graph.input(5), 0);
  BYOC_TRY(ValueId product, add_conv(graph, node, x, weight));
  if (node.has_input(8)) product = add_bias(graph, product, graph.input(8));
  ValueId weight_scale = along(graph, graph.input(4), 1, graph.rank(product));
  return rescaled(graph, product, graph.input(1), weight_scale);
}

constexpr Row kRows[] = {
    {"QuantizeLinear", 10, kNewest, quantize_linear},
    {"DequantizeLinear", 10, kNewest, dequantize_linear},
    {"DynamicQuantizeLinear", 11, kNewest, dynamic_quantize_linear},
    {"MatMulInteger", 10, kNewest, matmul_integer},
    {"ConvInteger", 10, kNewest, conv_integer},
    {"QLinearMatMul", 10, kNewest, qlinear_matmul},
    {"QLinearConv", 10, kNewest, qlinear_conv},
};

}  // namespace

std::span<const Row> quantize_rows() { return kRows; }

}  // namespace byoc::onnx_import
