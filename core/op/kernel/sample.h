// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values between the cells of an image: a product of taps, which are cells with weights, per dim.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/op/kernel/expression.h"

namespace byoc::op {

inline constexpr size_t kMostSpatial = 3;  // dims of an image

/// Returns a position as a cell number, near enough to an image for arithmetic; that of NaN is far
/// outside of it.
inline int64_t floor_cell(double position) {
  constexpr double kFar = 0x1p40;
  if (!(position > -kFar)) return -(int64_t{1} << 40);
  return static_cast<int64_t>(std::floor(std::min(position, kFar)));
}

/// Up to four cells of one dim. No taps: the sample is 0.
struct SampleTaps {
  std::array<int64_t, 4> cells{};
  std::array<double, 4> weights{};
  size_t count = 0;
};
/// Returns the two cells around a position, none further than one cell outside of [0, extent).
inline SampleTaps linear_taps(double position, int64_t extent) {
  int64_t cell = floor_cell(position);
  if (cell < -1 || cell > extent) return {};
  double part = position - static_cast<double>(cell);
  return {{cell, cell + 1}, {1 - part, part}, 2};
}

/// Sums x times the weights over all combinations of taps. `x` is one image of these extents, of at
/// most three dims; cells outside of it are 0.
template <class T>
double sampled(const T* x, std::span<const int64_t> extents,
               const std::array<SampleTaps, kMostSpatial>& taps) {
  size_t combinations = 1;
  for (size_t d = 0; d < extents.size(); ++d) combinations *= taps[d].count;
  double sum = 0;
  for (size_t which = 0; which < combinations; ++which) {
    double weight = 1;
    int64_t at = 0;
    bool inside = true;
    size_t rest = which;
    for (size_t d = 0; d < extents.size(); ++d) {
      size_t k = rest % taps[d].count;
      rest /= taps[d].count;
      int64_t cell = taps[d].cells[k];
      inside = inside && cell >= 0 && cell < extents[d];
      at = at * extents[d] + cell;
      weight *= taps[d].weights[k];
    }
    sum += weight * (inside ? static_cast<double>(x[at]) : 0);
  }
  return sum;
}

/// The same as expressions, in f64.
struct TapsExpr {
  Exprs cells, weights;
  Expr near;  // false: the sample is 0; empty: true
};
Expr floor_cell(const Expr& position);
/// Clamps like std::clamp: NaN stays.
Expr clamped_position(const Expr& x, double low, double high);
TapsExpr linear_taps(const Expr& position, int64_t extent);
/// Returns the sum over x at `leading` indices and all combinations of taps.
Expr sampled(const Tensor& x, const Exprs& leading, const std::vector<TapsExpr>& taps);

/// sample_compute.cc: grid_sample as an expression.
Result<Tensors> compute_grid_sample(te::Builder&, Inputs in, Types out, const Attrs&);

}  // namespace byoc::op
