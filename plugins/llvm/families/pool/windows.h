// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pools with large windows, one axis after the other. Along an axis of stride 1 the maxima (or
// sums) of 2, 4, 8, ... cells are computed from each other, and a window is joined from these:
//   two[p] = max(x[p], x[p + 1]),  four[p] = max(two[p], two[p + 2]),  ...
//   y[p] = max(eight[p], eight[p + 5])   for windows of 13 cells
#include "byoc/te/schedule.h"
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::pool {

inline constexpr const char* kWindowsCompute = "by_axis";
/// Columns of a window that tiles of a row write out.
inline constexpr int64_t kMostPoolColumns = 5;

/// The windows along one axis.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0, pad_end = 0;
  /// Returns the cells from the first of the first window to the last of the last one.
  int64_t reach() const { return (out - 1) * stride + (kernel - 1) * dilation + 1; }
  bool is_padded() const { return pad > 0 || reach() > in; }
};
/// max_pool or average_pool of x [n, c, axes...].
struct Windows {
  bool is_max = true, counts_pad = false;
  DType dtype = DType::kF32, state = DType::kF32;  // of elements, and of what is computed
  int64_t planes = 1;
  std::vector<Axis> axes;
  int64_t lanes = 1;  // of a vector of `state`
};
/// Returns nullopt for other ops, pools with indices, and where no vector has several lanes.
std::optional<Windows> windows_of(const te::Site& site);

/// Returns estimates of cycles: axis by axis, and tap by tap.
double cycles_of(const Windows& windows);
double direct_cycles_of(const Windows& windows);

ComputeFn by_axis(const Windows& windows);

/// Computes planes one by one, or parts of their rows that fit the second cache, each with all of
/// its axes. Errors: those of primitives.
Result<te::Schedule> schedule_windows(const te::Dag& dag, const te::Target& target);
/// Returns true for a Dag that pools axis by axis.
bool has_windows(const te::Dag& dag);

}  // namespace byoc::llvm_plugin::pool
