// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measured steps of a session, and their sums by kernel: time, arithmetic and memory.
#include <optional>

#include "core/measure/session/timed_session.h"
#include "runtime/session/profile.h"

namespace byoc::driver {

/// Arithmetic, memory and time of something. Flops and bytes are those of one run; bytes are the
/// least that has to be moved: inputs, outputs and constants, each once.
struct Work {
  std::optional<double> flops;  // nothing where the host's function runs
  double bytes = 0, ns = 0;
  double gflop_per_s() const { return flops && ns > 0 ? *flops / ns : 0; }
  double gb_per_s() const { return ns > 0 ? bytes / ns : 0; }
  /// Returns flops per byte, the arithmetic intensity.
  double intensity() const { return flops && bytes > 0 ? *flops / bytes : 0; }
};

/// The times of one step of the program.
struct Row {
  ProfileRow step;
  measure::Spread spread;
  double bytes = 0;
  std::optional<double> flops;
  Work work() const { return {flops, bytes, spread.median}; }
};
std::vector<Row> rows_of(const measure::TimedSession& timed);
double sum_of_medians(const std::vector<Row>& rows);
/// Returns the samples of a step; none when the work was interrupted before the steps were timed.
const measure::Samples& samples_of(const measure::TimedSession& timed, size_t step);

/// Rows added up.
struct RowSum {
  std::string name;
  size_t regions = 0;
  Work work;
};
/// Returns sums per result of `name`, the slowest first.
std::vector<RowSum> sums_of(const std::vector<Row>& rows,
                            const std::function<std::string(const ProfileRow&)>& name);
std::vector<RowSum> sums_by_kernel(const std::vector<Row>& rows);
std::vector<RowSum> sums_by_runner(const std::vector<Row>& rows);

/// Returns the first 40 characters of a plugin's words.
std::string short_words(const std::string& text);

/// Returns the work of one run that took `ns`.
Work work_of(const Session& session, double ns);

}  // namespace byoc::driver
