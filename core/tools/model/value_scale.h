// SPDX-License-Identifier: Apache-2.0
#pragma once
// The magnitude that errors of a tensor's values are measured against.
#include <algorithm>
#include <cmath>

#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// Returns the largest finite magnitude of `tensor`, leaving out magnitudes that stand for
/// "nothing" beside values of ordinary size: the -3.4e38 or -10000 that masks add. Magnitudes from
/// 1024 on are left out with all greater ones when nothing lies between them and 64 times the
/// largest magnitude below, or 64 if that is less; the result is then at least 1.
///   0.5, -3, 12, -3.4e38  ->  12        -10000, 0  ->  1        2e5, -3e4, 700, 9  ->  2e5
/// 0 for a tensor without values. Time: O(elements).
double value_scale(const Tensor& tensor);

/// Returns how far a value may be from `wanted`: `tolerance` times the greater of its own magnitude
/// and the scale. So a huge value may have a huge error, and the others may not.
inline double allowed_error(double wanted, double scale, double tolerance) {
  double magnitude = std::isfinite(wanted) ? std::abs(wanted) : 0;
  return tolerance * std::max(magnitude, scale);
}

}  // namespace byoc::driver
