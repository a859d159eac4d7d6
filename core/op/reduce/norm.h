// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of the normalisations: mean and variance of a row, parameters per channel.
#include <cmath>

#include "byoc/base/check.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

/// The statistics for y = (x - mean) * inv_std. They are computed in f64, in two passes, so that a
/// large mean does not cancel the variance.
struct RowStats {
  double mean, inv_std;
};
template <class T>
RowStats row_stats(const T* x, int64_t n, double epsilon) {
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < n; ++k) sum += static_cast<double>(x[k]);
  double mean = sum / static_cast<double>(n);
  for (int64_t k = 0; k < n; ++k) {
    double off = static_cast<double>(x[k]) - mean;
    squares += off * off;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(n) + epsilon)};
}

/// Checks that input `k` has shape [channels]: "batch_norm: x has 3 channels, mean has shape [4] (x
/// ..., mean ...)".
inline Status expect_per_channel(std::string_view op, std::string_view name, TypeId x, TypeId given,
                                 Dim channels) {
  if (given->shape == Shape{channels}) return {};
  return invalid(cat(op, ": x has ", channels, " channels, ", name, " has shape ", given->shape,
                     " (x ", x, ", ", name, " ", given, ")"))
      .with_slug("op-shape");
}

/// Checks for [n, c, ...]: "batch_norm: x has rank 1, expects 2 or more (x f32[3])".
inline Status expect_channels(std::string_view op, TypeId x, size_t rank = 2) {
  if (x->shape.size() >= rank) return {};
  return invalid(
             cat(op, ": x has rank ", x->shape.size(), ", expects ", rank, " or more (x ", x, ")"))
      .with_slug("op-shape");
}

/// Checks that all inputs are floats of one dtype.
inline Status expect_floats(std::string_view op, Types inputs) {
  BYOC_TRY_STATUS(expect_dtype(op, "x", inputs[0], dtypes_of(FloatTypes{})));
  return expect_same_dtype(op, inputs);
}

/// The same as stages [shape]: mean and variance of the n elements that `element(i, r)` names.
struct MomentStages {
  Tensor mean, variance;
};
using ElementFn = std::function<Expr(const Exprs& i, const Exprs& r)>;  // widened
inline MomentStages moments_of(te::Builder& builder, const Exprs& shape, const Exprs& over,
                               DType dtype, int64_t n, const ElementFn& element) {
  BYOC_CHECK(!over.empty(), "moments of ", n, " elements of no dim");
  auto divided = [&](const char* name, const Tensor& total) {
    return builder.compute(name, shape, [&](const Exprs& i) {
      return total(i) / like(total(i), static_cast<double>(n));
    });
  };
  Tensor mean = divided("mean", sum_over(builder, "sum", shape, over, dtype, element));
  Tensor squares =
      sum_over(builder, "squares", shape, over, dtype, [&](const Exprs& i, const Exprs& r) {
        Expr off = element(i, r) - mean(i);
        return off * off;
      });
  return {mean, divided("variance", squares)};
}
/// Returns 1 / (x + epsilon)^(1/2).
inline Expr inverse_root(const Expr& x, double epsilon) {
  return like(x, 1) / te::unary(te::UnaryOp::kSqrt, x + like(x, epsilon));
}

}  // namespace byoc::op
