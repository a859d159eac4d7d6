// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear interpolation in the order that ONNX Runtime sums in: each product of weights times a
// cell is rounded, then added. oneDNN fuses the two. Quantised images are full of values beside
// ties of the next quantize, where that rounding decides.
#include <vector>

#include "exact/loop.h"

namespace byoc::onednn {

/// One dim: each output cell is a sum of `taps` input cells, two or, where the dim is kept, one.
/// The lists have all first taps, then all second ones.
struct LinearAxis {
  int64_t in = 0, out = 0, taps = 1;
  std::vector<int32_t> cells;
  std::vector<float> weights;
};

/// Returns a dim that is kept.
LinearAxis kept_axis(int64_t extent);
/// Returns a dim of `in` cells, at least 1, that is read at these positions. A position before
/// the first cell is that cell's; at the last cell both taps read it, by halves.
LinearAxis linear_axis(int64_t in, const std::vector<double>& positions);

/// Memory of [planes][the dims of `axes`, one at least][lanes]: lanes are 1 for plain images, else
/// the channels of a block, or all where channels are last.
struct Interpolation {
  int64_t planes = 1, lanes = 1;
  std::vector<LinearAxis> axes;
};

Loop interpolation_loop(const Interpolation& images);

}  // namespace byoc::onednn
