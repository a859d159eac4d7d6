// SPDX-License-Identifier: Apache-2.0
#pragma once
// The agreement of two measures of the same things about their order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace byoc {

/// Returns the ranks of values, from 1; equal ones have the mean of their ranks.
inline std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t k = begin; k < end; ++k) ranks[order[k]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

/// Returns Spearman's rank correlation; 0 when either has no order.
inline double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    xy += (x[k] - mean) * (y[k] - mean);
    xx += (x[k] - mean) * (x[k] - mean);
    yy += (y[k] - mean) * (y[k] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

}  // namespace byoc
