// SPDX-License-Identifier: Apache-2.0
#pragma once
// Returns the magnitude to which errors of a tensor's values are relative.
#include <algorithm>
#include <cmath>

#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// Returns the largest finite magnitude of `tensor` without masks, values such as -3.4e38 or -10000
/// that mean "nothing" among values of ordinary size. A magnitude of at least 1024 is left out with
/// all greater ones when it is more than 64 times the largest magnitude below it, or more than 64
/// if that is below 1; the result is then at least 1.
///   0.5, -3, 12, -3.4e38  ->  12        -10000, 0  ->  1        2e5, -3e4, 700, 9  ->  2e5
/// 0 for a tensor without values. Time: O(elements).
double value_scale(const Tensor& tensor);

/// Returns the largest allowed difference from `expected`: `tolerance` times the greater of its own
/// magnitude and the scale. So a huge value may have a huge error, and the others may not.
inline double allowed_error(double expected, double scale, double tolerance) {
  double magnitude = std::isfinite(expected) ? std::abs(expected) : 0;
  return tolerance * std::max(magnitude, scale);
}

}  // namespace byoc::driver
