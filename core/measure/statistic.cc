// SPDX-License-Identifier: Apache-2.0
#include "core/measure/statistic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace byoc::measure {
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

double percentile(const std::vector<double>& sorted, double part) {
  double at = part * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

/// Returns the time of a run in load k.
double time_of_load(const Samples& samples, size_t k) {
  const size_t end = k + 1 < samples.loads.size() ? samples.loads[k + 1] : samples.ns.size();
  return time_of(std::span(samples.ns).subspan(samples.loads[k], end - samples.loads[k]));
}

}  // namespace

double time_of(std::span<const double> samples_ns) {
  if (samples_ns.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted(samples_ns.begin(), samples_ns.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = (sorted.size() + kFastest - 1) / kFastest;
  return std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n), 0.0) /
         static_cast<double>(n);
}

Spread spread_of(std::vector<double> ns) {
  if (ns.empty()) return {};
  std::sort(ns.begin(), ns.end());
  return {percentile(ns, 0.5), percentile(ns, 0.05), percentile(ns, 0.95), ns.front()};
}

Ratio ratio_of_fastest(const Samples& a, const Samples& b) {
  const size_t n = std::min(a.loads.size(), b.loads.size());
  std::vector<double> logs(n);
  for (size_t k = 0; k < n; ++k) logs[k] = std::log(time_of_load(b, k) / time_of_load(a, k));
  const auto count = static_cast<double>(n);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  if (n < 2) return {std::exp(mean), 0, std::numeric_limits<double>::infinity()};
  double squares = 0;
  for (double value : logs) squares += (value - mean) * (value - mean);
  const double half = student(n - 1) * std::sqrt(squares / (count * (count - 1)));
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
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

Ratio ratio_so_far(const Samples& a, const Samples& b) {
  if (std::min(a.loads.size(), b.loads.size()) > 1) return ratio_of_fastest(a, b);
  return ratio_of(block_times(a), block_times(b));
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

}  // namespace byoc::measure
