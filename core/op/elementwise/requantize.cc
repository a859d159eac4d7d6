// SPDX-License-Identifier: Apache-2.0
// Sums of products of integers as integers of 8 bits again.
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

// The result is rounded before the zero point is added, and clamped before it is rounded, which is
// the same for bounds that are whole.
struct Steps {
  int64_t zero_point, min, max;
  float low() const { return static_cast<float>(min - zero_point); }
  float high() const { return static_cast<float>(max - zero_point); }
};

Result<Steps> read_steps(const Attrs& attrs) {
  const DType to = attrs.dtype("to");
  if (to != DType::kU8 && to != DType::kI8)
    return invalid(cat("requantize: to is ", to, ", expected u8 or i8")).with_slug("op-dtype");
  const int64_t least = to == DType::kU8 ? 0 : -128, greatest = to == DType::kU8 ? 255 : 127;
  const Steps steps{attrs.i("zero_point"), attrs.i("min"), attrs.i("max")};
  auto fits = [&](int64_t value) { return least <= value && value <= greatest; };
  if (fits(steps.zero_point) && fits(steps.min) && fits(steps.max) && steps.min <= steps.max)
    return steps;
  return invalid(cat("requantize: zero_point ", steps.zero_point, ", min ", steps.min, " and max ",
                     steps.max, ", expected values of ", to, " with min up to max"));
}

Result<std::vector<TensorType>> infer_requantize(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("requantize", "x", in[0], {DType::kI32}));
  BYOC_TRY_STATUS(expect_dtype("requantize", "factor", in[1], {DType::kF32}));
  BYOC_TRY_STATUS(read_steps(attrs).status());
  BYOC_TRY(Shape shape, broadcast_shapes("requantize", in));
  if (shape == in[0]->shape) return one_result({attrs.dtype("to"), shape});
  return invalid(cat("requantize: factor ", in[1], " does not broadcast to x ", in[0]))
      .with_slug("op-shape");
}

int32_t integer_of(int32_t x, float factor, const Steps& steps) {
  const float scaled = static_cast<float>(x) * factor;
  const float above = scaled > steps.low() ? scaled : steps.low();
  const float within = above < steps.high() ? above : steps.high();
  return static_cast<int32_t>(std::nearbyint(within)) + static_cast<int32_t>(steps.zero_point);
}

template <class T>
RefKernel requantize_kernel(const Walk<2>& walk, const Steps& steps) {
  return [walk, steps](const void* const* in, void* const* out) {
    const int32_t* x = in_as<int32_t>(in, 0);
    const float* factor = in_as<float>(in, 1);
    T* y = out_as<T>(out, 0);
    walk.for_rows([&](Walk<2>::Steps at, int64_t n, Walk<2>::Steps step) {
      for (int64_t k = 0; k < n; ++k) {
        const int64_t i = at[0] + k * step[0];
        y[i] = static_cast<T>(integer_of(x[i], factor[at[1] + k * step[1]], steps));
      }
    });
  };
}

Result<RefKernel> reference_requantize(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(Steps steps, read_steps(attrs));
  const Shape& shape = out[0]->shape;
  BYOC_CHECK(count(in[0]) == count(out[0]), in[0], " is requantized to ", out[0]);
  const Walk<2> walk(static_extents(shape),
                     {broadcast_strides(shape, shape), broadcast_strides(in[1]->shape, shape)});
  if (out[0]->dtype == DType::kU8) return requantize_kernel<uint8_t>(walk, steps);
  return requantize_kernel<int8_t>(walk, steps);
}

// Clamps integers, which processors do as they make vectors of fewer bits. The upper bound of the
// float keeps its conversion in range. A conversion from below the range gives the least i32, as
// does NaN, to which only zero points of at least 0 may be added.
Expr clamped_integer(const Expr& scaled, const Steps& steps) {
  auto integer = [](int64_t value) { return te::int_constant(DType::kI32, value); };
  const Expr high = te::constant(DType::kF32, steps.high());
  const Expr below = te::select(high < scaled, high, scaled);
  const Expr whole = te::cast(DType::kI32, te::unary(te::UnaryOp::kRound, below));
  return te::min(te::max(whole + integer(steps.zero_point), integer(steps.min)),
                 integer(steps.max));
}

Result<Tensors> compute_requantize(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Steps steps, read_steps(attrs));
  return one(builder.compute("requantize", in[0].shape(), [&](const Exprs& i) {
    Expr scaled = te::cast(DType::kF32, in[0](i)) * in[1](broadcast_index(in[1], i));
    if (steps.zero_point >= 0) return te::cast(out[0]->dtype, clamped_integer(scaled, steps));
    Expr within = te::min(te::max(scaled, te::constant(DType::kF32, steps.low())),
                          te::constant(DType::kF32, steps.high()));
    Expr whole = te::cast(DType::kI32, te::unary(te::UnaryOp::kRound, within));
    return te::cast(out[0]->dtype, whole + te::int_constant(DType::kI32, steps.zero_point));
  }));
}

OpDef requantize() {
  OpDef op{.name = "requantize", .kind = FusionKind::kBroadcast};
  op.doc =
      "y = round(x * factor) + zero_point within [min, max]: the product in f32, halves to even; "
      "NaN "
      "gives min";
  op.inputs = {{"x", "i32"}, {"factor", "f32, broadcasts to x"}};
  op.outputs = {{"y", "the type `to`, shape of x"}};
  op.attrs = {{"to", DType::kU8, "u8 or i8", AttrSpec::kRequired},
              {"zero_point", int64_t{0}, "a value of that type"},
              {"min", int64_t{0}, "the least result", AttrSpec::kRequired},
              {"max", int64_t{0}, "the greatest result", AttrSpec::kRequired}};
  op.infer = infer_requantize;
  op.reference = reference_requantize;
  op.compute = with_open_sizes(compute_requantize);
  op.flops = [](Types in, Types, const Attrs&) { return 4 * flop_count(in[0]); };
  op.facts = {.family = OpFamily::kQuantize};
  return op;
}

}  // namespace

void add_requantize_ops(OpRegistry& ops) { ops.add(requantize()); }

}  // namespace byoc::op
