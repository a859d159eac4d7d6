// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

namespace byoc::test {

/// Returns the largest error divided by the largest expected value; NaN counts as infinity.
inline double relative_error(const std::vector<float>& y, const std::vector<double>& expected) {
  double largest = 0, error = 0;
  for (size_t at = 0; at < expected.size(); ++at) {
    const double one = std::abs(double{y[at]} - expected[at]);
    error = std::isnan(one) ? INFINITY : std::max(error, one);
    largest = std::max(largest, std::abs(expected[at]));
  }
  return largest == 0 ? error : error / largest;
}

}  // namespace byoc::test
