// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of com.microsoft on integers of 8 bits, QLinearAdd to QLinearWhere: the ops
// of floats between dequantize and quantize, as in the form QDQ.
#include "core/import/onnx/microsoft/quantized.h"

#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/quantize.h"
#include "core/import/onnx/rows/steps.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Gives a zero point of one value the shape of its scale.
ValueId shaped_as(Graph& graph, ValueId zero_point, ValueId scale) {
  const Shape& shape = graph.type(scale).shape;
  if (graph.type(zero_point).shape == shape || !is_one_value(graph, zero_point) ||
      shape.size() > 1 || !is_static(shape))
    return zero_point;
  const Ints extents = static_extents(shape);
  const ValueId one =
      graph.call("reshape", {zero_point}, {{"shape", shape.empty() ? Ints{} : Ints{1}}});
  return is_one_value(graph, scale) ? one : graph.call("expand", {one}, {{"shape", extents}});
}

Status unfit(Graph& graph, ValueId scale, Value zero_point, std::string_view what) {
  std::string types = cat(graph.type(scale));
  if (zero_point) types += cat(" and ", graph.type(*zero_point));
  return invalid(cat("its scale and zero point of ", what,
                     " must be f32 and integers, of one "
                     "shape; they are ",
                     types));
}

// Adds f of the real numbers of inputs 0 to 2, in the integers of inputs 3 and 4.
template <class F>
Converted unary(Graph& graph, F&& f) {
  BYOC_TRY(ValueId x, dequantized(graph, quantized_input(graph, 0)));
  BYOC_TRY(ValueId y, f(x));
  BYOC_TRY(y, requantized(graph, y, graph.input(3), graph.optional_input(4),
                          graph.type(graph.input(0)).dtype));
  return std::vector{y};
}

Converted qlinear_sigmoid(Graph& graph, const OnnxNode&) {
  return unary(graph, [&](ValueId x) -> Result<ValueId> { return graph.call("sigmoid", {x}); });
}

Converted qlinear_leaky_relu(Graph& graph, const OnnxNode& node) {
  return unary(graph, [&](ValueId x) -> Result<ValueId> {
    return graph.call("leaky_relu", {x}, {{"alpha", node.f("alpha", 0.01)}});
  });
}

// Up to opset 12 of Softmax, the dims from `axis` on are one.
Converted qlinear_softmax(Graph& graph, const OnnxNode& node) {
  const int64_t axis = node.i("axis", -1);
  const bool joins = node.i("opset", 13) < 13;
  return unary(graph, [&](ValueId x) -> Result<ValueId> {
    BYOC_TRY(size_t from, normal_axis(axis, graph.rank(x)));
    if (!joins || from + 1 == graph.rank(x)) return graph.call("softmax", {x}, {{"axis", axis}});
    const Shape shape = graph.type(x).shape;
    if (!is_static(shape))
      return unimplemented(cat("its input must have a known shape, it is ", graph.type(x)));
    ValueId rows = graph.call("flatten", {x}, {{"axis", axis}});
    ValueId y = graph.call("softmax", {rows}, {{"axis", int64_t{1}}});
    return graph.call("reshape", {y}, {{"shape", static_extents(shape)}, {"allow_zero", true}});
  });
}

template <OpName op>
Converted qlinear_binary(Graph& graph, const OnnxNode&) {
  BYOC_TRY(ValueId a, dequantized(graph, quantized_input(graph, 0)));
  BYOC_TRY(ValueId b, dequantized(graph, quantized_input(graph, 3)));
  BYOC_TRY(ValueId y, requantized(graph, graph.call(op.text, {a, b}), graph.input(6),
                                  graph.optional_input(7), graph.type(graph.input(0)).dtype));
  return std::vector{y};
}

Converted qlinear_where(Graph& graph, const OnnxNode&) {
  BYOC_TRY(ValueId x, dequantized(graph, quantized_input(graph, 1)));
  BYOC_TRY(ValueId y, dequantized(graph, quantized_input(graph, 4)));
  ValueId z = graph.call("where", {graph.input(0), x, y});
  BYOC_TRY(z,
           requantized(graph, z, graph.input(7), graph.input(8), graph.type(graph.input(1)).dtype));
  return std::vector{z};
}

// Inputs: scale and zero point of the result, then three for each part.
Converted qlinear_concat(Graph& graph, const OnnxNode& node) {
  if (node.num_inputs() < 5 || (node.num_inputs() - 2) % 3 != 0)
    return invalid(cat("it has ", node.num_inputs(),
                       " inputs, expected a scale, a zero point and three for each part"));
  std::vector<ValueId> parts;
  for (size_t k = 2; k < node.num_inputs(); k += 3) {
    BYOC_TRY(ValueId part, dequantized(graph, quantized_input(graph, k)));
    parts.push_back(part);
  }
  ValueId all = concatenated(graph, parts, node.i("axis", 0));
  BYOC_TRY(ValueId y, requantized(graph, all, graph.input(0), graph.input(1), DType::kU8));
  return std::vector{y};
}

constexpr Row kQuantizedRows[] = {
    {"DequantizeLinear", 1, 1, dequantize_linear},
    {"QLinearAdd", 1, 1, qlinear_binary<"add">},
    {"QLinearConcat", 1, 1, qlinear_concat},
    {"QLinearLeakyRelu", 1, 1, qlinear_leaky_relu},
    {"QLinearMul", 1, 1, qlinear_binary<"multiply">},
    {"QLinearSigmoid", 1, 1, qlinear_sigmoid},
    {"QLinearSoftmax", 1, 1, qlinear_softmax},
    {"QLinearWhere", 1, 1, qlinear_where},
    {"QuantizeLinear", 1, 1, quantize_linear},
};

}  // namespace

bool is_one_value(Graph& graph, ValueId value) {
  const Shape& shape = graph.type(value).shape;
  return shape.empty() || shape == Shape{Dim(1)};
}

Quantized quantized_input(Graph& graph, size_t k) {
  return {graph.input(k), graph.input(k + 1), graph.optional_input(k + 2)};
}

Result<ValueId> dequantized(Graph& graph, const Quantized& from) {
  Value zero = from.zero_point;
  if (zero) zero = shaped_as(graph, *zero, from.scale);
  const Grains grains{static_cast<size_t>(from.axis), 0, graph.type(from.x).shape};
  if (Value y = as_dequantize(graph, from.x, from.scale, zero, grains)) return *y;
  return unfit(graph, from.scale, from.zero_point, "an operand");
}

Result<ValueId> requantized(Graph& graph, ValueId y, ValueId scale, Value zero_point, DType dtype) {
  if (!zero_point) zero_point = graph.scalar(dtype, 0);
  const ValueId zero = shaped_as(graph, *zero_point, scale);
  const TensorType& type = graph.type(zero);
  if (graph.type(scale).dtype != DType::kF32 || type.shape != graph.type(scale).shape ||
      !is_small_integer(type.dtype))
    return unfit(graph, scale, zero_point, "the result");
  return graph.call("quantize", {y, scale, zero}, {{"axis", int64_t{0}}});
}

std::span<const Row> microsoft_quantized_rows() { return kQuantizedRows; }

}  // namespace byoc::onnx_import
