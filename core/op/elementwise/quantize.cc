// SPDX-License-Identifier: Apache-2.0
// Numbers as small integers: quantize and dequantize, with a scale and a zero point for all of x,
// or for each entry of one dim.
// Source: ONNX opset 13, QuantizeLinear and DequantizeLinear.
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {
namespace {

using QuantizedTypes = TypeList<uint8_t, int8_t, uint16_t, int16_t>;
using StoredTypes = decltype(QuantizedTypes{} + TypeList<int32_t>{});

// Returns whether a type holds one value for all of x.
bool is_single(TypeId type) {
  return type->shape.empty() || (type->shape.size() == 1 && type->shape[0] == Dim(1));
}

// Checks the scale, [] or [1] or [n] with n the extent of the axis, and a zero point of its shape.
Status check_parameters(std::string_view op, Types inputs, const Attrs& attrs) {
  TypeId x = inputs[0], scale = inputs[1];
  BYOC_TRY_STATUS(expect_dtype(op, "scale", scale, {DType::kF32}));
  if (inputs.size() > 2 && inputs[2]->shape != scale->shape)
    return invalid(
               cat(op, ": scale is ", scale, " and zero_point ", inputs[2], ", expects one shape"))
        .with_slug("op-shape");
  if (is_single(scale)) return {};
  BYOC_TRY(size_t axis, normal_axis(op, attrs.i("axis"), x));
  if (scale->shape == Shape{x->shape[axis]}) return {};
  return invalid(cat(op, ": scale is ", scale, ", expects one value or ", x->shape[axis],
                     ", one per entry of dim ", axis, " (x ", x, ")"))
      .with_slug("op-shape");
}

Result<std::vector<TensorType>> infer_quantize(Types inputs, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("quantize", "x", inputs[0], {DType::kF32}));
  BYOC_TRY_STATUS(expect_dtype("quantize", "zero_point", inputs[2], dtypes_of(QuantizedTypes{})));
  BYOC_TRY_STATUS(check_parameters("quantize", inputs, attrs));
  return one_result({inputs[2]->dtype, inputs[0]->shape});
}

Result<std::vector<TensorType>> infer_dequantize(Types inputs, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("dequantize", "x", inputs[0], dtypes_of(StoredTypes{})));
  if (inputs.size() > 2)
    BYOC_TRY_STATUS(expect_dtype("dequantize", "zero_point", inputs[2], {inputs[0]->dtype}));
  BYOC_TRY_STATUS(check_parameters("dequantize", inputs, attrs));
  return one_result({DType::kF32, inputs[0]->shape});
}

// The entries of x that share a scale are rows of `inner` elements; a single scale has one row.
AxisView rows_of(Types inputs, const Attrs& attrs) {
  if (is_single(inputs[1])) return {1, 1, count(inputs[0])};
  const int64_t axis = attrs.i("axis"), rank = static_cast<int64_t>(inputs[0]->shape.size());
  const AxisView view = around_axis(inputs[0], static_cast<size_t>(axis < 0 ? axis + rank : axis));
  BYOC_CHECK(count(inputs[1]) == view.extent, inputs[1], " has scales of ", inputs[0]);
  return view;
}

// Calls row(entry, first element) for each row.
template <class Row>
void for_rows(const AxisView& view, Row&& row) {
  for (int64_t k = 0; k < view.outer * view.extent; ++k) row(k % view.extent, k * view.inner);
}

template <class T>
RefKernel quantize_kernel(AxisView view) {
  return [view](const void* const* in, void* const* out) {
    for_rows(view, [&](int64_t entry, int64_t first) {
      const float* x = in_as<float>(in, 0) + first;
      const float scale = in_as<float>(in, 1)[entry];
      const auto zero_point = static_cast<float>(in_as<T>(in, 2)[entry]);
      T* y = out_as<T>(out, 0) + first;
      for (int64_t k = 0; k < view.inner; ++k)
        y[k] = converted<T>(std::nearbyint(x[k] / scale) + zero_point);
    });
  };
}

// Returns x - zero_point, which wraps around for i32.
int32_t distance(int32_t x, int32_t zero_point) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) - static_cast<uint32_t>(zero_point));
}

template <class T>
RefKernel dequantize_kernel(AxisView view, bool has_zero_point) {
  return [view, has_zero_point](const void* const* in, void* const* out) {
    for_rows(view, [&](int64_t entry, int64_t first) {
      const T* x = in_as<T>(in, 0) + first;
      const float scale = in_as<float>(in, 1)[entry];
      const T zero_point = has_zero_point ? in_as<T>(in, 2)[entry] : T(0);
      float* y = out_as<float>(out, 0) + first;
      for (int64_t k = 0; k < view.inner; ++k)
        y[k] = static_cast<float>(distance(x[k], zero_point)) * scale;
    });
  };
}

// Checks that the scales, and with them the zero points, have numbers for extents.
Status check_lists(std::string_view op, Inputs in) {
  const Shape shape = type_of(in[1]).shape;
  return has_open(shape) ? needs_number(op, shape[0]) : Status();
}

// Returns the element of a scale or a zero point that is for x[i].
Expr for_entry(const Tensor& list, const Exprs& i, const Attrs& attrs) {
  Ints shape = extents(list);
  if (shape.empty()) return list(Exprs{});
  if (shape[0] == 1) return list(Exprs{Expr(int64_t{0})});
  const int64_t axis = attrs.i("axis"), rank = static_cast<int64_t>(i.size());
  BYOC_CHECK(axis >= -rank && axis < rank, "scales along dim ", axis, " of rank ", rank);
  return list(Exprs{i[static_cast<size_t>(axis < 0 ? axis + rank : axis)]});
}

Result<Tensors> compute_quantize(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_lists("quantize", in));
  return one(builder.compute("quantize", in[0].shape(), [&](const Exprs& i) {
    Expr steps = te::unary(te::UnaryOp::kRound, in[0](i) / for_entry(in[1], i, attrs));
    Expr zero_point = te::cast(DType::kF32, for_entry(in[2], i, attrs));
    return converted_to(out[0]->dtype, steps + zero_point);
  }));
}

Result<Tensors> compute_dequantize(te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_lists("dequantize", in));
  return one(builder.compute("dequantize", in[0].shape(), [&](const Exprs& i) {
    Expr steps = te::cast(DType::kI32, in[0](i));
    if (in.size() > 2) steps = steps - te::cast(DType::kI32, for_entry(in[2], i, attrs));
    return te::cast(DType::kF32, steps) * for_entry(in[1], i, attrs);
  }));
}

const AttrSpec kAxis{"axis", 1, "the dim of x that scale and zero_point have an entry for, each"};

OpDef quantize() {
  OpDef op{.name = "quantize", .kind = FusionKind::kBroadcast};
  op.doc =
      "y = round(x / scale) + zero_point, halves to even, within the range of y's type; NaN gives "
      "0";
  op.inputs = {{"x", "f32"},
               {"scale", "f32, one value or one per entry of dim `axis`"},
               {"zero_point", "u8, i8, u16 or i16: the type of y; shape of scale"}};
  op.attrs = {kAxis};
  op.infer = infer_quantize;
  op.reference = [](Types inputs, Types outputs, const Attrs& attrs) -> Result<RefKernel> {
    return for_dtype(
        "quantize", outputs[0]->dtype, QuantizedTypes{},
        [&]<class T>() -> Result<RefKernel> { return quantize_kernel<T>(rows_of(inputs, attrs)); });
  };
  op.compute = with_open_sizes(compute_quantize);
  op.flops = [](Types inputs, Types, const Attrs&) { return 3 * flop_count(inputs[0]); };
  op.facts = {.family = OpFamily::kQuantize};
  return op;
}

OpDef dequantize() {
  OpDef op{.name = "dequantize", .kind = FusionKind::kBroadcast};
  op.doc = "y = (x - zero_point) * scale, the difference in i32";
  op.inputs = {{"x", "u8, i8, u16, i16 or i32"},
               {"scale", "f32, one value or one per entry of dim `axis`"},
               {"zero_point", "dtype of x, shape of scale; 0 where it is absent", true}};
  op.outputs = {{"y", "f32"}};
  op.attrs = {kAxis};
  op.infer = infer_dequantize;
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    return for_dtype("dequantize", inputs[0]->dtype, StoredTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return dequantize_kernel<T>(rows_of(inputs, attrs), inputs.size() > 2);
                     });
  };
  op.compute = with_open_sizes(compute_dequantize);
  op.flops = [](Types inputs, Types, const Attrs&) { return 2 * flop_count(inputs[0]); };
  op.facts = {.family = OpFamily::kDequantize};
  return op;
}

}  // namespace

void add_quantize_ops(OpRegistry& ops) {
  ops.add(quantize());
  ops.add(dequantize());
}

}  // namespace byoc::op
