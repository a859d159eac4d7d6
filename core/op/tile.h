#pragma once
// The one inner loop of convolution and matrix product: eight rows of sums over 64 lanes.
#include <algorithm>
#include <cstdint>

namespace byoc::op {

/// sum[r][l] += weight[r] * x[l], step by step over the reduction. Lives on the stack (2 KiB of
/// f32). Lanes are worked on in full blocks of 16 with a constant trip count, which compilers
/// vectorise; lanes beyond the wanted ones hold leftovers that nobody reads.
template <class Acc>
struct Tile {
  static constexpr int64_t kRows = 8, kLanes = 64, kBlock = 16;
  alignas(64) Acc sum[kRows][kLanes];

  void clear(int64_t rows) { std::fill_n(&sum[0][0], rows * kLanes, Acc{}); }

  /// `x` is readable up to `lanes` rounded up to a full block.
  void add(const Acc* weight, int64_t rows, const Acc* x, int64_t lanes) {
    for (int64_t r = 0; r < rows; ++r) {
      const Acc w = weight[r];
      for (int64_t l = 0; l < lanes; l += kBlock) {
        for (int64_t q = 0; q < kBlock; ++q) sum[r][l + q] += w * x[l + q];
      }
    }
  }
};

}  // namespace byoc::op
