// SPDX-License-Identifier: Apache-2.0
// dft: the discrete Fourier transform along one dim. Source: ONNX opsets 17 and 20, DFT.
#include <cmath>
#include <numbers>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

// y[k] = scale sum_j weight_j x[j] e^(sign 2 pi i j k / length) over the first `used` elements of a
// line, where sign is -1, +1 for the inverse. Complex numbers are pairs in the last dim.
struct DftPlan {
  size_t axis = 0;
  int64_t length = 0, used = 0, results = 0;
  bool inverse = false, onesided = false, is_complex = false;
  double scale() const { return inverse ? 1 / static_cast<double>(length) : 1; }
  bool is_real_result() const { return inverse && onesided; }
  // One side of a spectrum counts for both, but for the elements that are their own mirror image.
  double weight(int64_t j) const { return is_real_result() && j > 0 && 2 * j != length ? 2 : 1; }
};

Result<DftPlan> read_dft_plan(Types in, const Attrs& attrs) {
  TypeId x = in[0];
  const size_t rank = x->shape.size();
  auto wrong = [&](std::string what) {
    return invalid(cat("dft: ", what, " (x ", x, ")")).with_slug("op-shape");
  };
  if (rank < 2 || (x->shape[rank - 1] != Dim(1) && x->shape[rank - 1] != Dim(2)))
    return wrong("x must have rank 2 or more, and a last dim of 1 (real) or 2 (complex)");
  DftPlan plan;
  BYOC_TRY(plan.axis, normal_axis("dft", attrs.i("axis"), x));
  if (plan.axis + 1 == rank)
    return wrong("axis is the last dim, which holds real and imaginary parts");
  if (!x->shape[plan.axis].is_static())
    return invalid(cat("dft: dim ", plan.axis, " must be known (x ", x, ")"))
        .with_slug("symbolic-shape");
  const int64_t extent = x->shape[plan.axis].extent();
  plan.inverse = attrs.b("inverse", false), plan.onesided = attrs.b("onesided", false);
  plan.is_complex = x->shape[rank - 1] == Dim(2);
  plan.length = attrs.i("length", 0);
  if (plan.length == 0) plan.length = plan.is_real_result() ? 2 * (extent - 1) : extent;
  if (plan.length < 1 || plan.length >= int64_t{1} << 31)
    return wrong(cat("the length is ", plan.length, ", expected 1 to 2^31 - 1"));
  if (plan.onesided && plan.is_complex != plan.inverse)
    return wrong(plan.inverse ? "one side of the inverse requires complex x"
                              : "one side of the spectrum requires real x");
  const int64_t half = plan.length / 2 + 1;
  plan.used = std::min(extent, plan.is_real_result() ? half : plan.length);
  plan.results = plan.onesided && !plan.inverse ? half : plan.length;
  return plan;
}

Result<std::vector<TensorType>> infer_dft(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("dft", "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY(DftPlan plan, read_dft_plan(in, attrs));
  TensorType y = *in[0];
  y.shape[plan.axis] = plan.results;
  y.shape.back() = Dim(plan.is_real_result() ? 1 : 2);
  return one_result(std::move(y));
}

// Computes one result of a line; `step` is the distance of its elements, each of one or two parts.
template <class T>
void one_result_of(const DftPlan& plan, const std::vector<double>& cosines,
                   const std::vector<double>& sines, const T* x, int64_t step, int64_t k, T* y) {
  double real = 0, imaginary = 0;
  for (int64_t j = 0; j < plan.used; ++j) {
    const auto turn = static_cast<size_t>(j * k % plan.length);
    const double weight = plan.weight(j), a = static_cast<double>(x[j * step]) * weight;
    const double b = plan.is_complex ? static_cast<double>(x[j * step + 1]) * weight : 0;
    real += a * cosines[turn] - b * sines[turn];
    imaginary += a * sines[turn] + b * cosines[turn];
  }
  y[0] = static_cast<T>(real * plan.scale());
  if (!plan.is_real_result()) y[1] = static_cast<T>(imaginary * plan.scale());
}

Result<RefKernel> reference_dft(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(DftPlan plan, read_dft_plan(in, attrs));
  std::vector<double> cosines, sines;
  for (int64_t k = 0; k < plan.length; ++k) {
    double turn = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(plan.length);
    cosines.push_back(std::cos(turn));
    sines.push_back(plan.inverse ? std::sin(turn) : -std::sin(turn));
  }
  AxisView from = around_axis(in[0], plan.axis), to = around_axis(out[0], plan.axis);
  const int64_t x_parts = plan.is_complex ? 2 : 1, y_parts = plan.is_real_result() ? 1 : 2;
  BYOC_CHECK(from.outer == to.outer && from.inner % x_parts == 0 &&
                 from.inner / x_parts == to.inner / y_parts,
             in[0], " is transformed to ", out[0]);
  return for_dtype("dft", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* in_data, void* const* out_data) {
      for (int64_t outer = 0; outer < from.outer; ++outer) {
        for (int64_t line = 0; line < from.inner / x_parts; ++line) {
          const T* x = in_as<T>(in_data, 0) + outer * from.extent * from.inner + line * x_parts;
          T* y = out_as<T>(out_data, 0) + outer * to.extent * to.inner + line * y_parts;
          for (int64_t k = 0; k < plan.results; ++k)
            one_result_of(plan, cosines, sines, x, from.inner, k, y + k * to.inner);
        }
      }
    };
  });
}

Result<Tensors> compute_dft(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  TypeId type = type_of(in[0]);
  BYOC_TRY(DftPlan plan, read_dft_plan(std::span(&type, 1), attrs));
  auto f64 = [](double value) { return te::constant(DType::kF64, value); };
  auto table = [&](const char* name, te::UnaryOp op, double sign) {
    return builder.compute(name, {plan.length}, [&](const Exprs& i) {
      double step = 2 * std::numbers::pi / static_cast<double>(plan.length);
      return f64(sign) * te::unary(op, te::cast(DType::kF64, i[0]) * f64(step));
    });
  };
  Tensor cosines = table("cosine", te::UnaryOp::kCos, 1),
         sines = table("sine", te::UnaryOp::kSin, plan.inverse ? 1 : -1);
  Tensor sums = builder.reduce("sum", te::extents_of(*out[0]), {plan.used}, te::sum_of(DType::kF64),
                               [&](const Exprs& i, const Exprs& r) {
                                 Exprs at = i;
                                 at[plan.axis] = r[0], at.back() = 0;
                                 Expr a = te::cast(DType::kF64, widened(in[0](at))), b = f64(0);
                                 if (plan.is_complex)
                                   at.back() = 1, b = te::cast(DType::kF64, widened(in[0](at)));
                                 Expr turn = floor_mod(r[0] * i[plan.axis], plan.length);
                                 Expr c = cosines(turn), s = sines(turn);
                                 Expr real = a * c - b * s, imaginary = a * s + b * c;
                                 Expr value = select(i.back() == Expr(0), real, imaginary);
                                 if (!plan.is_real_result()) return value;
                                 Expr is_mirror = r[0] == Expr(0) || r[0] * 2 == Expr(plan.length);
                                 return select(is_mirror, real, real * f64(2));
                               });
  return one(builder.compute("dft", te::extents_of(*out[0]), [&](const Exprs& i) {
    return converted_to(in[0].dtype(), sums(i) * f64(plan.scale()));
  }));
}

double flops_dft(Types in, Types out, const Attrs& attrs) {
  auto plan = read_dft_plan(in, attrs);
  return plan.ok() ? 4.0 * static_cast<double>(plan->used) * flop_count(out[0]) : 0;
}

}  // namespace

void add_dft_ops(OpRegistry& ops) {
  ops.add({.name = "dft",
           .doc =
               "y_k = sum_j x_j e^(-2 pi i j k / length) along `axis`, or the inverse, with + and "
               "1 / length.",
           .kind = FusionKind::kReduction,
           .inputs = {{"x", "float [..., 1] real, or [..., 2] complex"}},
           .outputs = {{"y", "[..., 2]; one side of the inverse: [..., 1]"}},
           .attrs = {{"axis", int64_t{-2}, "in [-rank, rank - 1), not the last"},
                     {"length", int64_t{0},
                      "x is cut to it, or padded with zeros; 0: x's extent, 2 (extent - 1) for one "
                      "side of the inverse"},
                     {"inverse", false, "the inverse transform"},
                     {"onesided", false,
                      "the first length / 2 + 1 results for real x; the inverse: x is those of a "
                      "real signal"}},
           .infer = infer_dft,
           .reference = reference_dft,
           .compute = with_open_sizes(compute_dft),
           .flops = flops_dft});
}

}  // namespace byoc::op
