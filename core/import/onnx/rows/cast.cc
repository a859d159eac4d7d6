// SPDX-License-Identifier: Apache-2.0
// Cast, CastLike, BitCast. Source: ONNX opsets 6 to 28, Cast; opset 26, BitCast.
#include "core/import/onnx/rows/cast.h"

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Keeps the low bits of numbers, as a number with or without a sign. The result of floats outside
// of the range is not defined.
ValueId low_bits(Graph& graph, ValueId x, const NarrowType& to) {
  const int64_t half = int64_t{1} << (to.bits - 1);
  auto number = [&](int64_t value) {
    return graph.scalar(DType::kI32, static_cast<double>(value));
  };
  ValueId bits = graph.call("bitwise_and", {cast_to(graph, x, DType::kI32), number(2 * half - 1)});
  if (to.stored == DType::kI8) {  // a number of half and more is negative
    bits = graph.call("bitwise_xor", {bits, number(half)});
    bits = graph.call("subtract", {bits, number(half)});
  }
  return cast_to(graph, bits, to.stored);
}

ValueId to_few_bits(Graph& graph, ValueId x, const NarrowType& to, const Narrowing& how) {
  const DType from = graph.type(x).dtype;
  if (to.is_float()) {
    ValueId real = is_float(from) ? x : cast_to(graph, x, DType::kF32);
    Attrs attrs{{"format", to.format}, {"saturate", how.saturate}};
    if (std::string(to.format) == "f8e8m0") attrs.set("rounding", how.rounding);
    return graph.call("encode_float", {real}, attrs);
  }
  return low_bits(graph, x, to);
}

Narrowing narrowing_of(const OnnxNode& node) {
  return {node.i("saturate", 1) != 0, node.s("round_mode", "up")};
}

Converted cast(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId y, cast_to_onnx(graph, graph.input(0), static_cast<int32_t>(node.i("to", 0)),
                                   narrowing_of(node)));
  return std::vector{y};
}

Converted cast_like(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId y, cast_to_onnx(graph, graph.input(0), onnx_dtype_of(graph, graph.input(1)),
                                   narrowing_of(node)));
  return std::vector{y};
}

Converted bit_cast(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(DType to, dtype_from_onnx(static_cast<int32_t>(node.i("to", 0))));
  return std::vector{graph.call("bit_cast", {graph.input(0)}, {{"to", to}})};
}

constexpr Row kCastRows[] = {
    {"BitCast", 26, kNewest, bit_cast},
    {"Cast", 6, kNewest, cast},
    {"CastLike", 15, kNewest, cast_like},
};

}  // namespace

ValueId numbers_of(Graph& graph, ValueId x) {
  const NarrowType* type = graph.narrow(x);
  if (type == nullptr || !type->is_float()) return x;
  return graph.call("decode_float", {x}, {{"format", type->format}});
}

Result<ValueId> cast_to_onnx(Graph& graph, ValueId x, int32_t onnx_dtype, const Narrowing& how) {
  const NarrowType* to = narrow_type(onnx_dtype);
  if (to != nullptr && to == graph.narrow(x)) return x;
  ValueId numbers = numbers_of(graph, x);
  if (to != nullptr) return graph.set_narrow(to_few_bits(graph, numbers, *to, how), to);
  BYOC_TRY(DType dtype, dtype_from_onnx(onnx_dtype));
  // A value of its own, as x may be of a narrow type.
  return graph.call("cast", {numbers}, {{"to", dtype}});
}

int32_t onnx_dtype_of(Graph& graph, ValueId x) {
  const NarrowType* narrow = graph.narrow(x);
  return narrow ? narrow->onnx : dtype_to_onnx(graph.type(x).dtype);
}

std::span<const Row> cast_rows() { return kCastRows; }

}  // namespace byoc::onnx_import
