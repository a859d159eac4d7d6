// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/versus.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace byoc::driver {
namespace {

constexpr double kTrimmed = 0.2;  // of the values, at each end
constexpr size_t kFastest = 8;    // one of so many samples counts

/// Returns the 0.975 quantile of Student's t for n degrees of freedom, 1 or more. Source: tables of
/// the distribution; between and above the rows the next smaller n, which errs to the wide side.
double student(size_t n) {
  constexpr double kRows[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                              2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                              2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                              2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return kRows[std::min(n, std::size(kRows)) - 1];
}

constexpr size_t kNoBlock = SIZE_MAX;

/// Samples by their time, each with the block of two turns that it is from.
class SortedSamples {
 public:
  explicit SortedSamples(const Samples& samples) {
    size_t turn = 0;
    for (size_t k = 0; k < samples.ns.size(); ++k) {
      while (turn + 1 < samples.turns.size() && samples.turns[turn + 1] <= k) ++turn;
      sorted_.emplace_back(samples.ns[k], turn / 2);
    }
    std::sort(sorted_.begin(), sorted_.end());
  }

  /// Returns the mean of the fastest eighth of the samples outside of block `left_out`.
  double fastest_ns(size_t left_out) const {
    auto counts = [&](const auto& sample) { return sample.second != left_out; };
    const auto all = static_cast<size_t>(std::count_if(sorted_.begin(), sorted_.end(), counts));
    const size_t wanted = (all + kFastest - 1) / kFastest;
    double sum = 0;
    for (size_t k = 0, taken = 0; taken < wanted; ++k) {
      if (!counts(sorted_[k])) continue;
      sum += sorted_[k].first;
      ++taken;
    }
    return sum / static_cast<double>(wanted);
  }

 private:
  std::vector<std::pair<double, size_t>> sorted_;
};

}  // namespace

Ratio ratio_of_fastest(const Samples& a, const Samples& b) {
  const SortedSamples of_a(a), of_b(b);
  auto log_ratio = [&](size_t left_out) {
    return std::log(of_b.fastest_ns(left_out) / of_a.fastest_ns(left_out));
  };
  const size_t n = std::min(a.turns.size(), b.turns.size()) / 2;
  const double all = log_ratio(kNoBlock);
  if (n < 2) return {std::exp(all), 0, std::numeric_limits<double>::infinity()};
  std::vector<double> without(n);
  for (size_t k = 0; k < n; ++k) without[k] = log_ratio(k);
  const auto count = static_cast<double>(n);
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / count;
  double squares = 0;
  for (double value : without) squares += (value - mean) * (value - mean);
  const double half = student(n - 1) * std::sqrt(squares * (count - 1) / count);
  return {std::exp(all), std::exp(all - half), std::exp(all + half)};
}

Ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  const size_t n = std::min(a.size(), b.size());
  std::vector<double> logs(n);
  for (size_t k = 0; k < n; ++k) logs[k] = std::log(b[k] / a[k]);
  std::sort(logs.begin(), logs.end());
  const auto trimmed = static_cast<size_t>(kTrimmed * static_cast<double>(n));
  const size_t kept = n - 2 * trimmed;
  double mean = 0, squares = 0;
  for (size_t k = trimmed; k < trimmed + kept; ++k) mean += logs[k] / static_cast<double>(kept);
  if (n < 2) return {std::exp(mean), 0, std::numeric_limits<double>::infinity()};
  double middle = 0;  // of the values with those that were trimmed moved to the nearest one kept
  for (double& value : logs) value = std::clamp(value, logs[trimmed], logs[trimmed + kept - 1]);
  for (double value : logs) middle += value / static_cast<double>(n);
  for (double value : logs) squares += (value - middle) * (value - middle);
  const double error = std::sqrt(squares / static_cast<double>(kept * (kept - 1)));
  const double half = student(kept - 1) * error;
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

std::vector<double> block_times(const Samples& samples) {
  std::vector<double> medians, out;
  for (size_t k = 0; k < samples.turns.size(); ++k) {
    size_t end = k + 1 < samples.turns.size() ? samples.turns[k + 1] : samples.ns.size();
    auto first = samples.ns.begin() + static_cast<std::ptrdiff_t>(samples.turns[k]);
    medians.push_back(
        spread_of({first, samples.ns.begin() + static_cast<std::ptrdiff_t>(end)}).median);
  }
  for (size_t k = 0; k + 1 < medians.size(); k += 2)
    out.push_back((medians[k] + medians[k + 1]) / 2);
  return out;
}

}  // namespace byoc::driver
