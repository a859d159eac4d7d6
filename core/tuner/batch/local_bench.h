// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures points on this machine.
#include "core/tuner/batch/bench.h"
#include "core/tuner/batch/record_facts.h"
#include "core/tuner/batch/steady_batches.h"

namespace byoc::tune {

/// Thread-compatible.
class LocalBench {
 public:
  /// The tasks and `build` must outlive it. Errors: those of Measurer::make.
  static Result<std::unique_ptr<LocalBench>> make(const std::vector<Task>& tasks,
                                                  const BuildOptions& build, MeasureOptions options,
                                                  RecordFacts facts);
  /// Sets a task's best point. An artifact of it becomes property of this object.
  void set_champion(size_t task, const Point& point, double best_ns, std::string artifact = "");
  const Champion& champion(size_t task) const { return measurer_->champion(task); }
  /// As Bench::measure.
  Status measure(std::span<const Trial> trials, const KeepGoing& keep_going,
                 const EachOutcome& each);
  SteadyBatches& batches() { return batches_; }

 private:
  LocalBench(const std::vector<Task>& tasks, RecordFacts facts, std::unique_ptr<Measurer> measurer);
  Outcome outcome_of(const Measured& measured) const;

  const std::vector<Task>& tasks_;
  RecordFacts facts_;
  std::unique_ptr<Measurer> measurer_;
  SteadyBatches batches_;
};

/// Returns the functions of `local`, which they keep.
Bench bench_of(std::shared_ptr<LocalBench> local);

}  // namespace byoc::tune
