// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statistics of samples: the time of a run, its spread, and the ratio of two subjects.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace byoc::measure {

/// Times in the order of measurement, in ns per run.
struct Samples {
  std::vector<double> ns;
  uint64_t runs_per_sample = 1;    // of which a sample is the mean
  std::vector<size_t> turns = {};  // the first sample of each turn
  std::vector<size_t> loads = {};  // the first sample of each load of the session
};

/// Returns the time of a run by its samples: the mean of the fastest eighth of them, at least one.
/// Other work on the machine adds time and never takes any. Up to 8 samples it is the smallest.
/// `byoc tune`, `place` and `bench` all compare and store this time. Infinity without samples.
double time_of(std::span<const double> samples_ns);

struct Spread {
  double median = 0, p5 = 0, p95 = 0, min = 0;  // nanoseconds
};
/// Returns the percentiles of the samples, interpolated between two samples as numpy.percentile
/// does; all 0 when there are no samples.
Spread spread_of(std::vector<double> ns);

/// A ratio of times, and the interval that holds its true value in 95 of 100 measurements.
struct Ratio {
  double ratio = 1, low = 1, high = 1;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// Returns the geometric mean of b[k] / a[k] without the lowest and the highest fifth, and its
/// interval (Tukey and McLaughlin 1963): a few blocks that other work disturbed change neither.
/// Needs two or more pairs; with fewer the interval is that of nothing known, 0 to infinity.
Ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b);

/// Returns the geometric mean of b's time over a's, per load of the sessions; both are time_of()
/// the samples of that load: other work only ever adds time, and not the same share to both. The
/// interval is Student's, so it has the luck of the memory that each load got.
/// Needs two or more loads; with one the interval is 0 to infinity.
Ratio ratio_of_fastest(const Samples& a, const Samples& b);

/// Returns ratio_of_fastest(); of samples of one load, as after an early Ctrl-C, ratio_of() the
/// blocks that both have.
Ratio ratio_so_far(const Samples& a, const Samples& b);

/// Returns a time per block of two turns, of which one was measured in each order (ABBA): the mean
/// of their medians, so that a steady drift of the machine cancels out.
std::vector<double> block_times(const Samples& samples);

}  // namespace byoc::measure
