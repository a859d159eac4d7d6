// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several builders and one runner, which work at the same time.
#include <deque>
#include <functional>

#include "core/tuner/measure/worker_process.h"

namespace byoc::tune {

/// A request of the pool. `request` is called when a worker is free, `done` with its answer; it may
/// add further jobs.
struct Job {
  std::function<Request()> request;
  std::function<void(Answer)> done;
  Limits limits;
};

/// Called about ten times per second; returns false to stop.
using KeepGoing = std::function<bool()>;

class WorkerPool {
 public:
  WorkerPool(const WorkerCommand& builder, size_t builders, const WorkerCommand& runner);
  void add_build(Job job) { builds_.push_back(std::move(job)); }
  void add_run(Job job) { runs_.push_back(std::move(job)); }
  /// Adds a job that the runner does before all others.
  void add_next_run(Job job) { runs_.push_front(std::move(job)); }
  /// Works until all jobs are done. Errors: a worker cannot be started; kCancelled when
  /// `keep_going` returns false. Jobs that are not done are then dropped and their workers ended.
  Status finish(const KeepGoing& keep_going);
  /// Returns the process of the runner, -1 without one. For tests.
  pid_t runner() const { return workers_.back().process.pid(); }

 private:
  struct Busy {
    WorkerProcess process;
    std::deque<Job>* queue;
    std::function<void(Answer)> done;
  };
  Status begin_jobs();
  void wait() const;
  bool is_idle() const;
  void drop_all();

  std::deque<Job> builds_, runs_;
  std::vector<Busy> workers_;  // the last one is the runner
};

}  // namespace byoc::tune
