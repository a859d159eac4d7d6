// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one inner loop of convolution and matrix product: eight rows of sums over 64 lanes.
#include <algorithm>
#include <cstdint>

namespace byoc::op {

/// Sums total[r][l] = sum of weight[r] * x[l] over the steps of a reduction. Lives on the stack (4
/// KiB of f32). Lanes are processed in full blocks of 16 with a constant trip count, which
/// compilers vectorise; lanes beyond the last needed one have values that are never read. Runs of
/// 64 steps are summed separately, so that rounding errors grow with the number of runs and not
/// with the number of steps.
template <class Acc>
class Tile {
 public:
  static constexpr int64_t kRows = 8, kLanes = 64, kBlock = 16, kRun = 64;

  void clear(int64_t rows) {
    std::fill_n(&run_[0][0], rows * kLanes, Acc{});
    std::fill_n(&total_[0][0], rows * kLanes, Acc{});
    steps_ = 0;
  }

  /// Adds one step. `x` is readable up to `lanes` rounded up to a full block.
  void add(const Acc* weight, int64_t rows, const Acc* x, int64_t lanes) {
    for (int64_t r = 0; r < rows; ++r) {
      const Acc w = weight[r];
      for (int64_t l = 0; l < lanes; l += kBlock) {
        for (int64_t q = 0; q < kBlock; ++q) run_[r][l + q] += w * x[l + q];
      }
    }
    if (++steps_ % kRun == 0) end_run(rows);
  }

  /// Returns the sums of a row, after the last step.
  const Acc* finish(int64_t row) {
    for (int64_t l = 0; l < kLanes; ++l) total_[row][l] += run_[row][l];
    return total_[row];
  }

 private:
  void end_run(int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t l = 0; l < kLanes; ++l) total_[r][l] += run_[r][l];
      std::fill_n(run_[r], kLanes, Acc{});
    }
  }

  alignas(64) Acc run_[kRows][kLanes];
  alignas(64) Acc total_[kRows][kLanes];
  int64_t steps_ = 0;
};

}  // namespace byoc::op
