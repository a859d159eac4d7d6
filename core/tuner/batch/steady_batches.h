// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batches of trials between two runs of the reference loop, whose time shows whether the machine
// became faster or slower meanwhile.
#include "core/tuner/measure/measurer.h"

namespace byoc::tune {

/// The parts of a machine that batches need.
struct BatchMachine {
  std::function<Status(std::span<const Trial>, const KeepGoing&, const Measurer::Each&)> measure;
  std::function<Result<double>(const KeepGoing&)> reference_ns;
  std::function<double(size_t task)> best_ns;  ///< of the task's best point; infinity without one
};

/// Measures batches. A batch during which the reference loop's time changed by more than kMostDrift
/// has points whose times are wrong by as much: those that may be the best are measured again.
/// Thread-compatible.
class SteadyBatches {
 public:
  static constexpr double kMostDrift = 0.03;
  using Each = std::function<void(const Measured&, bool is_repeated)>;
  explicit SteadyBatches(BatchMachine machine) : machine_(std::move(machine)) {}
  /// Calls `each` for every trial, and again for those that are repeated, unless that failed.
  /// Errors: those of the machine.
  Status measure(std::span<const Trial> trials, const KeepGoing& keep_going, const Each& each);
  /// Times the reference loop unless a batch has done so. Returns its last time.
  Result<double> begin(const KeepGoing& keep_going);
  double reference_ns() const { return reference_ns_; }  ///< its last time; 0 before the first one
  double drift() const { return drift_; }                ///< of the last batch, 0.05 for 5 %

 private:
  BatchMachine machine_;
  double reference_ns_ = 0, drift_ = 0;
};

}  // namespace byoc::tune
