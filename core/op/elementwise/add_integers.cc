// SPDX-License-Identifier: Apache-2.0
// Sums of two tensors of integers of 8 bits with scales and zero points, as integers of 8 bits.
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

// Sums of two products and of a shift within these bounds are less than 2^31 in size.
constexpr double kMostFactor = 1 << 20, kMostShift = 1 << 30;

struct Rescaling {
  float a_factor, b_factor, shift;
  int32_t min, max;
};

Result<Rescaling> read_rescaling(const Attrs& attrs) {
  const DType to = attrs.dtype("to");
  if (to != DType::kU8 && to != DType::kI8)
    return invalid(cat("add_integers: to is ", to, ", expected u8 or i8")).with_slug("op-dtype");
  for (const char* name : {"a_factor", "b_factor", "shift"}) {
    const double value = attrs.f(name), most = name[0] == 's' ? kMostShift : kMostFactor;
    if (!(std::fabs(value) <= most))
      return invalid(
          cat("add_integers: ", name, " is ", value, ", expected at most ", most, " in size"));
  }
  const int64_t least = to == DType::kU8 ? 0 : -128, greatest = to == DType::kU8 ? 255 : 127;
  const int64_t min = attrs.i("min"), max = attrs.i("max");
  if (min < least || max > greatest || min > max)
    return invalid(cat("add_integers: min is ", min, " and max ", max, ", expected values of ", to,
                       " with min up to max"));
  return Rescaling{static_cast<float>(attrs.f("a_factor")), static_cast<float>(attrs.f("b_factor")),
                   static_cast<float>(attrs.f("shift")), static_cast<int32_t>(min),
                   static_cast<int32_t>(max)};
}

Result<std::vector<TensorType>> infer_sum(Types in, const Attrs& attrs) {
  for (size_t k = 0; k < 2; ++k)
    BYOC_TRY_STATUS(
        expect_dtype("add_integers", k == 0 ? "a" : "b", in[k], {DType::kU8, DType::kI8}));
  BYOC_TRY_STATUS(read_rescaling(attrs).status());
  if (in[0]->shape == in[1]->shape) return one_result({attrs.dtype("to"), in[0]->shape});
  return invalid(cat("add_integers: a is ", in[0], " and b ", in[1], ", expected one shape"))
      .with_slug("op-shape");
}

template <class A, class B, class Y>
RefKernel sum_kernel(int64_t count, const Rescaling& r) {
  return [count, r](const void* const* in, void* const* out) {
    const A* a = in_as<A>(in, 0);
    const B* b = in_as<B>(in, 1);
    for (int64_t k = 0; k < count; ++k) {
      const float inner = std::fma(static_cast<float>(b[k]), r.b_factor, r.shift);
      const float sum = std::fma(static_cast<float>(a[k]), r.a_factor, inner);
      const auto whole = static_cast<int32_t>(std::nearbyint(sum));
      out_as<Y>(out, 0)[k] = static_cast<Y>(std::clamp(whole, r.min, r.max));
    }
  };
}

using Bytes = TypeList<uint8_t, int8_t>;

Result<RefKernel> reference_sum(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(Rescaling r, read_rescaling(attrs));
  const int64_t count_of_all = count(in[0]);
  BYOC_CHECK(count(in[1]) == count_of_all && count(out[0]) == count_of_all, in[0], " and ", in[1],
             " add up to ", out[0]);
  return for_dtype("add_integers", in[0]->dtype, Bytes{}, [&]<class A>() -> Result<RefKernel> {
    return for_dtype("add_integers", in[1]->dtype, Bytes{}, [&]<class B>() -> Result<RefKernel> {
      if (out[0]->dtype == DType::kU8) return sum_kernel<A, B, uint8_t>(count_of_all, r);
      return sum_kernel<A, B, int8_t>(count_of_all, r);
    });
  });
}

// The sums are multiply-adds where the target has such instructions.
Result<Tensors> compute_sum(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Rescaling r, read_rescaling(attrs));
  auto number = [](float value) { return te::constant(DType::kF32, value); };
  auto integer = [](int32_t value) { return te::int_constant(DType::kI32, value); };
  return one(builder.compute("add_integers", in[0].shape(), [&](const Exprs& i) {
    const Expr a = te::cast(DType::kF32, in[0](i)), b = te::cast(DType::kF32, in[1](i));
    const Expr sum = a * number(r.a_factor) + (b * number(r.b_factor) + number(r.shift));
    const Expr whole = te::cast(DType::kI32, te::unary(te::UnaryOp::kRound, sum));
    return te::cast(out[0]->dtype, te::min(te::max(whole, integer(r.min)), integer(r.max)));
  }));
}

OpDef add_integers() {
  OpDef op{.name = "add_integers", .kind = FusionKind::kElementwise};
  op.doc =
      "y = round(a * a_factor + (b * b_factor + shift)) within [min, max], in multiply-adds of "
      "f32, "
      "halves to even";
  op.inputs = {{"a", "u8 or i8"}, {"b", "u8 or i8, shape of a"}};
  op.outputs = {{"y", "the type `to`, shape of a"}};
  op.attrs = {{"to", DType::kU8, "u8 or i8", AttrSpec::kRequired},
              {"a_factor", 1.0, "at most 2^20 in size", AttrSpec::kRequired},
              {"b_factor", 1.0, "at most 2^20 in size", AttrSpec::kRequired},
              {"shift", 0.0, "at most 2^30 in size"},
              {"min", int64_t{0}, "the least result", AttrSpec::kRequired},
              {"max", int64_t{0}, "the greatest result", AttrSpec::kRequired}};
  op.infer = infer_sum;
  op.reference = reference_sum;
  op.compute = with_open_sizes(compute_sum);
  op.flops = [](Types in, Types, const Attrs&) { return 5 * flop_count(in[0]); };
  op.facts = {.family = OpFamily::kQuantize};
  return op;
}

}  // namespace

void add_add_integers_ops(OpRegistry& ops) { ops.add(add_integers()); }

}  // namespace byoc::op
