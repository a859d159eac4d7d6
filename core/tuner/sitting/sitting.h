// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tuning of a model: searches, measures, and appends each measurement to a log.
#include <functional>
#include <limits>
#include <optional>

#include "byoc/tune/task.h"
#include "core/measure/store/store_use.h"
#include "core/tuner/measure/measure_options.h"
#include "core/tuner/slurm/slurm_options.h"

namespace byoc::tune {

struct SittingOptions {
  std::string log;  ///< is read, then appended to
  /// The folder of the observations that all commands share; "": none. Points that it has are
  /// copied to the log and are not measured again.
  std::string observations;
  size_t trials_per_task = 128;  ///< on average; the search gives more to tasks that gain more
  double budget_s = std::numeric_limits<double>::infinity();
  uint64_t seed = 1;  ///< of the search
  /// Logs of other tuners, whose points are starting points (core/tuner/starts).
  std::vector<std::string> starts;
  MeasureOptions measure;
  std::optional<SlurmOptions> slurm;  ///< machines of a cluster measure, and not this one
};

/// The use of one log of another tuner.
struct StartsUse {
  std::string log, format, summary;
  size_t lines = 0, used = 0, starts = 0;
  /// Lines without use by reason; choices of the used lines, with and without a knob.
  std::map<std::string, size_t> skipped, choices_used, choices_unfit;
};

/// The state of one task.
struct TaskReport {
  double untuned_ns = std::numeric_limits<double>::infinity();  ///< of the plugin's first guess
  double best_ns = std::numeric_limits<double>::infinity();
  Point best;                     ///< empty: no point could be measured
  size_t trials = 0, errors = 0;  ///< distinct points in the log; those without a time
  size_t measured = 0;            ///< trials of this sitting
  std::string defect;             ///< the reason why it cannot be measured
};

enum class SittingEnd : uint8_t {
  kDone,         ///< the search has ended
  kBudget,       ///< the time is over
  kInterrupted,  ///< `watch` returned false
};

struct SittingReport {
  std::vector<TaskReport> tasks;   ///< in the order of the tasks
  size_t measured = 0, total = 0;  ///< trials of this sitting; the most that it may have
  size_t repeated = 0;             ///< measured again, because the machine's speed had changed
  double seconds = 0;
  size_t current = 0;  ///< the task of the last measurement
  std::vector<StartsUse> starts;
  measure::StoreUse observations;
  std::string state;                 ///< of the machines of a cluster
  std::vector<std::string> remarks;  ///< what was out of the ordinary
  SittingEnd end = SittingEnd::kDone;
};

/// Called about ten times per second; returns false to end the sitting.
using Watch = std::function<bool(const SittingReport&)>;

/// Tunes the tasks. Records in the log of the same task, target, threads and version of the plugin
/// count as trials, and their points are not measured again. Each measurement is in the log before
/// the next one begins. Errors: those of the logs and of starting workers.
Result<SittingReport> tune(const std::vector<Task>& tasks, const BuildOptions& build,
                           const SittingOptions& options, const Watch& watch);

}  // namespace byoc::tune
