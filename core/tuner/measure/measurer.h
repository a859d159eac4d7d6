// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures points of tasks in worker processes.
#include "core/tuner/measure/measure_options.h"
#include "core/tuner/measure/task_folder.h"
#include "core/tuner/measure/worker_pool.h"

namespace byoc::tune {

/// A point to be measured.
struct Trial {
  size_t task = 0;  ///< index among the tasks
  Point point;      ///< of its space
  /// The point as an artifact, a file of the caller; "": it has to be built.
  std::string artifact = {};
};

/// The result of one trial.
struct Measured {
  size_t index = 0;  ///< among the trials of the call
  Trial trial;
  std::vector<double> samples_ns;  ///< ns per run; empty with an error
  std::string error;               ///< "": measured; else as Record::error
  bool is_tried = true;            ///< false: the task cannot be measured, `error` has the reason
  double build_ns = 0;             ///< time to compile
  bool is_champion = false;        ///< it is the task's best point now
  Point champion;                  ///< that it was compared with in turns; empty: it was not
  std::vector<double> champion_ns;
};

/// The best point of a task so far.
struct Champion {
  Point point;  ///< empty: none
  double best_ns = std::numeric_limits<double>::infinity();
  std::string artifact;  ///< its file; "": it has to be built
};

/// Measures trials and has the best point of each task. A point that is faster replaces it when it
/// also wins a duel, in which both are run in turns, by kLeastGain.
class Measurer {
 public:
  static constexpr double kLeastGain = 1.02;
  using Each = std::function<void(Measured)>;
  /// The tasks and `build` must outlive it. Errors: no temporary folder can be made.
  static Result<std::unique_ptr<Measurer>> make(const std::vector<Task>& tasks,
                                                const BuildOptions& build, MeasureOptions options);
  /// Sets the best point that is known from earlier measurements, and its artifact, a file of the
  /// caller, when there is one.
  void set_champion(size_t task, Point point, double best_ns, std::string artifact = "");
  const Champion& champion(size_t task) const { return states_[task].champion; }
  /// Measures the trials and calls `each` when one is done; the order of their runs is that of
  /// `trials` with one builder. Errors: those of WorkerPool::finish.
  Status measure(std::span<const Trial> trials, const KeepGoing& keep_going, const Each& each);
  /// Returns the time of the reference loop in the runner, ns.
  Result<double> reference_ns(const KeepGoing& keep_going);
  pid_t runner() const { return pool_.runner(); }  ///< For tests.

 private:
  struct State {
    Champion champion;
    std::string folder;  // "": not prepared
    std::string defect;  // the reason why it cannot be measured
    bool is_cold = false;
  };
  Measurer(const std::vector<Task>& tasks, const BuildOptions& build, MeasureOptions options,
           std::unique_ptr<ScratchFolder> scratch);
  Status prepare(std::span<const Trial> trials, const KeepGoing& keep_going);
  void prepare(size_t task);
  using Shared = std::shared_ptr<Measured>;
  void build(const Shared& measured, const Each& each);
  void run(const Shared& measured, const std::string& artifact, const Each& each);
  Request run_request(size_t task, const std::string& artifact) const;
  void challenge(const Shared& measured, const std::string& artifact, const Each& each);
  void rebuild_champion(const Shared& measured, const std::string& artifact, const Each& each);
  void duel(const Shared& measured, const std::string& artifact, const Each& each);
  void crown(Measured& measured, const std::string& artifact);
  Job build_job(size_t task, const Point& point, std::string artifact,
                std::function<void(Answer)> done);
  std::string new_artifact();
  /// Deletes a file that new_artifact() named; others belong to the caller, who may give a trial
  /// again when the machine's speed has changed.
  void discard(const std::string& artifact) const;

  const std::vector<Task>& tasks_;
  const BuildOptions& build_;
  MeasureOptions options_;
  std::unique_ptr<ScratchFolder> scratch_;    // of the tasks
  std::unique_ptr<ScratchFolder> artifacts_;  // of the points; nullptr: also there
  std::vector<State> states_;
  size_t made_ = 0;  // artifacts
  WorkerPool pool_;
};

}  // namespace byoc::tune
