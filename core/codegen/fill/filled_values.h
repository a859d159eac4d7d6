// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values that get channels of zeros, so that blocks divide the channels of convolutions.
#include <limits>
#include <span>
#include <vector>

#include "byoc/ir/module.h"

namespace byoc {

/// An image [n, c, h, w] of f32 with further channels.
struct FilledValue {
  int64_t channels = 0;  ///< with those added; 0: the value stays as it is
  /// The elements of the added channels; NaN when they differ or are not known.
  float added = std::numeric_limits<float>::quiet_NaN();
};

struct FillPlan {
  std::vector<FilledValue> values;  ///< per node, of its first result
  /// Per node: it reads images with their added channels. Other nodes read them cut off.
  std::vector<bool> takes;
  /// Per node: the channels that the image of a convolution gets for it, when it is not filled; 0:
  /// it reads the image as it is.
  std::vector<int64_t> filled_inputs;
  bool any = false;  ///< something is filled
};

struct FillOptions {
  std::span<const int64_t> blocks;  ///< of a default codegen, the preferred one first
  /// The rounding of sums must be that of the direct sum, and so must be their infinities: what a
  /// convolution of zeros makes of an infinity is not 0.
  bool is_exact = false;
};

/// Chooses the values. A convolution with constant filters is filled when no block divides its
/// channels, or when the preferred one does not and its result is read channel by channel up to
/// means of planes; ops that work on each channel alone follow. Values that are connected are
/// filled together, or not when moving their borders costs more than blocks save.
/// Cost: O(nodes + operands).
FillPlan plan_filled(const Function& function, const FillOptions& options);

/// Returns true for the mean of each plane, after which nothing of the plane is left.
bool is_mean_of_planes(const Call& call);
/// Returns true for an operand [c, 1, 1] or [1, c, 1, 1] with a value for each channel, or with
/// other dims: an operand of an image whose dim of channels is `channels`.
bool has_each_channel(TypeId type, int64_t channels);

}  // namespace byoc
