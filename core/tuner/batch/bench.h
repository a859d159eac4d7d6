// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of a sitting to what measures its points: this machine, or several.
#include "byoc/tune/record.h"
#include "core/tuner/measure/measurer.h"

namespace byoc::tune {

/// News of a trial.
struct Outcome {
  size_t task = 0;
  /// Its record. With a duel also one of the point that was the best before.
  std::vector<Record> records;
  bool is_trial = true;      ///< the first result of the trial; false: further records of it
  bool is_repeated = false;  ///< measured again, because the machine's speed had changed
  std::string defect;        ///< the reason why the task cannot be measured; then without records
};
using EachOutcome = std::function<void(const Outcome&)>;

/// The functions of a sitting's machine or machines.
struct Bench {
  size_t batches = 1;  ///< that are measured at the same time
  /// Sets the best point that is known from earlier measurements.
  std::function<void(size_t task, const Point&, double best_ns)> set_champion;
  std::function<Point(size_t task)> champion;  ///< the best point of a task; empty: none
  /// Measures the trials and calls `each` with each result. Errors: kCancelled when the second
  /// argument returns false; workers or machines cannot be used.
  std::function<Status(std::span<const Trial>, const KeepGoing&, const EachOutcome&)> measure;
  std::function<std::string()> state = [] { return std::string(); };  ///< for people; may be empty
  /// Returns sentences on what was out of the ordinary, each once.
  std::function<std::vector<std::string>()> remarks = [] { return std::vector<std::string>(); };
};

}  // namespace byoc::tune
