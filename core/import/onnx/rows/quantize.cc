// SPDX-License-Identifier: Apache-2.0
// Numbers as integers. Those of 8 and 16 bits with f32 scales are quantize; all else is converted
// into its steps: floats are scaled, rounded, shifted by their zero points and clipped.
#include <algorithm>

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/cast.h"
#include "core/import/onnx/rows/quantize.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
// Reshapes a list of one value per entry of dim `axis` so that it broadcasts to rank `rank`, and
// returns other values as they are. A list for a scalar is reshaped to one, an error of reshape.
ValueId along(Graph& graph, ValueId list, size_t axis, size_t rank) {
  if (graph.rank(list) != 1 || graph.type(list).shape[0] == Dim(1)) return list;
  Ints shape(rank > axis ? rank - axis : 0, 1);
  if (!shape.empty()) shape[0] = -1;
  return graph.call("reshape", {list}, {{"shape", shape}});
}

namespace {

// Repeats each value along the axis for the entries of its block; the last block may be shorter.
ValueId repeated(Graph& graph, ValueId list, const Grains& grains) {
  if (graph.rank(list) <= grains.axis) return list;  // an op before it failed
  Ints shape = static_extents(graph.type(list).shape), wide = shape;
  const auto axis = static_cast<int64_t>(grains.axis);
  wide.insert(wide.begin() + axis + 1, grains.block);
  shape[grains.axis] *= grains.block;
  ValueId all = expanded(graph, unsqueezed(graph, list, {axis + 1}), wide);
  all = graph.call("reshape", {all}, {{"shape", shape}, {"allow_zero", true}});
  const int64_t extent = grains.x[grains.axis].extent();
  return shape[grains.axis] == extent ? all : sliced(graph, all, axis, 0, extent);
}

}  // namespace

ValueId spread(Graph& graph, ValueId list, const Grains& grains) {
  return grains.block > 0 ? repeated(graph, list, grains)
                          : along(graph, list, grains.axis, grains.x.size());
}

ValueId shifted(Graph& graph, ValueId x, Value zero_point, const Grains& grains) {
  const NarrowType* narrow = graph.narrow(x);
  ValueId numbers =
      narrow && narrow->is_float() ? numbers_of(graph, x) : cast_to(graph, x, DType::kI32);
  if (!zero_point) return numbers;
  ValueId zero = cast_to(graph, numbers_of(graph, *zero_point), graph.type(numbers).dtype);
  return graph.call("subtract", {numbers, spread(graph, zero, grains)});
}

ValueId shifted(Graph& graph, ValueId x, Value zero_point, size_t axis) {
  return shifted(graph, x, zero_point, Grains{axis, 0, graph.type(x).shape});
}

namespace {

struct Range {
  double least, most;
};
// Returns the numbers of an integer type that values are quantised to.
Result<Range> range_of(int32_t onnx_dtype) {
  if (const NarrowType* narrow = narrow_type(onnx_dtype))
    return Range{static_cast<double>(narrow->least()), static_cast<double>(narrow->most())};
  BYOC_TRY(DType dtype, dtype_from_onnx(onnx_dtype));
  switch (dtype) {
    case DType::kU8:
      return Range{0, 255};
    case DType::kI8:
      return Range{-128, 127};
    case DType::kU16:
      return Range{0, 65535};
    case DType::kI16:
      return Range{-32768, 32767};
    default:
      return unimplemented(cat("quantising to ", dtype, " is not supported"));
  }
}

// Adds clip(round(x / scale) + zero_point), or the code of x / scale + zero_point.
Result<ValueId> quantized(Graph& graph, ValueId x, ValueId scale, Value zero_point,
                          const Grains& grains, const Quantising& how) {
  ValueId y = graph.call("divide", {cast_to(graph, x, how.precision),
                                    spread(graph, cast_to(graph, scale, how.precision), grains)});
  const NarrowType* narrow = narrow_type(how.to);
  const bool is_code = narrow && narrow->is_float();
  if (!is_code) y = graph.call("round", {y});
  y = cast_to(graph, y, DType::kF32);  // which holds every sum of 16-bit integers
  if (zero_point) {
    ValueId zero = cast_to(graph, numbers_of(graph, *zero_point), DType::kF32);
    y = graph.call("add", {y, spread(graph, zero, grains)});
  }
  if (is_code) return cast_to_onnx(graph, y, how.to, {how.saturate, "nearest"});
  BYOC_TRY(Range range, range_of(how.to));
  y = graph.call("clip", {y}, {{"min", range.least}, {"max", range.most}});
  return cast_to_onnx(graph, y, how.to, {});
}

}  // namespace

Result<ValueId> quantized(Graph& graph, ValueId x, ValueId scale, ValueId zero_point, size_t axis) {
  return quantized(graph, x, scale, zero_point, Grains{axis, 0, graph.type(x).shape},
                   {onnx_dtype_of(graph, zero_point)});
}

namespace {

// Checks that blocks of `block` entries cover dim `axis` of x with the scales that are given.
Status check_blocks(Graph& graph, const Grains& grains, ValueId scale) {
  const Shape& scales = graph.type(scale).shape;
  bool fits = grains.block > 0 && scales.size() == grains.x.size() && is_static(scales) &&
              grains.x[grains.axis].is_static();
  for (size_t d = 0; fits && d < scales.size(); ++d) {
    if (d != grains.axis) fits = scales[d] == grains.x[d];
  }
  if (fits) {
    int64_t n = grains.x[grains.axis].extent();
    fits = scales[grains.axis].extent() == n / grains.block + (n % grains.block != 0);
  }
  if (fits) return {};
  return invalid(cat("blocks of ", grains.block, " along dim ", grains.axis,
                     " of x, which has shape ", grains.x, ", do not fit the scale ",
                     graph.type(scale)));
}

}  // namespace

Result<Grains> read_grains(Graph& graph, const OnnxNode& node) {
  ValueId scale = graph.input(1);
  Grains grains{0, node.opset() >= 21 ? node.i("block_size", 0) : 0,
                graph.type(graph.input(0)).shape};
  bool per_axis = graph.rank(scale) == 1 && graph.type(scale).shape[0] != Dim(1);
  if (!per_axis && grains.block == 0) return grains;
  BYOC_TRY(grains.axis, normal_axis(node.i("axis", 1), grains.x.size()));
  if (grains.block != 0) BYOC_TRY_STATUS(check_blocks(graph, grains, scale));
  return grains;
}

bool fits_op(Graph& graph, ValueId scale, Value zero_point, const Grains& grains) {
  return grains.block == 0 && graph.type(scale).dtype == DType::kF32 &&
         (!zero_point || (graph.narrow(*zero_point) == nullptr &&
                          graph.type(*zero_point).shape == graph.type(scale).shape));
}

bool is_small_integer(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16;
}

// Returns the op quantize, where it computes what is meant. Without a zero point ONNX's is 0.
Value as_quantize(Graph& graph, ValueId x, ValueId scale, Value zero_point, const Grains& grains,
                  const Quantising& how) {
  Result<DType> to = dtype_from_onnx(how.to);
  if (!fits_op(graph, scale, zero_point, grains) || narrow_type(how.to) != nullptr || !to.ok() ||
      !is_small_integer(*to) || graph.type(x).dtype != DType::kF32 || how.precision != DType::kF32)
    return std::nullopt;
  if (!zero_point) {
    zero_point = graph.scalar(*to, 0);
    if (graph.rank(scale) > 0) {
      if (!is_static(graph.type(scale).shape)) return std::nullopt;
      zero_point = expanded(graph, *zero_point, static_extents(graph.type(scale).shape));
    }
  }
  if (graph.type(*zero_point).dtype != *to) return std::nullopt;
  return graph.call("quantize", {x, scale, *zero_point},
                    {{"axis", static_cast<int64_t>(grains.axis)}});
}

Converted quantize_linear(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Grains grains, read_grains(graph, node));
  ValueId scale = numbers_of(graph, graph.input(1));
  Value zero_point = graph.optional_input(2);
  Quantising how{zero_point ? onnx_dtype_of(graph, *zero_point) : dtype_to_onnx(DType::kU8),
                 graph.type(scale).dtype, node.i("saturate", 1) != 0};
  auto stated = static_cast<int32_t>(node.i("output_dtype", 0));
  if (stated != 0 && zero_point && stated != how.to)
    return invalid(cat("output_dtype is ", onnx_dtype_name(stated), ", y_zero_point is ",
                       onnx_dtype_name(how.to)));
  if (stated != 0) how.to = stated;
  if (!is_float(how.precision)) how.precision = DType::kF32;
  if (int64_t given = node.i("precision", 0)) {
    BYOC_TRY(how.precision, dtype_from_onnx(static_cast<int32_t>(given)));
  }
  if (Value y = as_quantize(graph, graph.input(0), scale, zero_point, grains, how))
    return std::vector{*y};
  BYOC_TRY(ValueId y, quantized(graph, graph.input(0), scale, zero_point, grains, how));
  return std::vector{y};
}

// Quantises the range [min(x, 0), max(x, 0)] in 255 steps.
Result<DynamicIntegers> dynamically_quantized(Graph& graph, ValueId x) {
  ValueId zero = graph.scalar(DType::kF32, 0);
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
  return DynamicIntegers{y, scale, zero_point};
}

namespace {

Converted dynamic_quantize_linear(Graph& graph, const OnnxNode&) {
  BYOC_TRY(DynamicIntegers y, dynamically_quantized(graph, graph.input(0)));
  return std::vector{y.x, y.scale, y.zero_point};
}

constexpr Row kQuantizeRows[] = {
    {"QuantizeLinear", 10, kNewest, quantize_linear},
    {"DynamicQuantizeLinear", 11, kNewest, dynamic_quantize_linear},
};

}  // namespace

std::span<const Row> quantize_rows() { return kQuantizeRows; }

}  // namespace byoc::onnx_import
