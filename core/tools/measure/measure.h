// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times sessions. Each is warmed up, then all are measured in turns, so that a slow minute of the
// machine affects all of them. Every second round has the opposite order: two rounds are A B B A.
#include <functional>
#include <limits>
#include <span>

#include "byoc/runtime/session.h"

namespace byoc::driver {

/// Times in the order of measurement. One sample is the mean of `runs_per_sample` runs.
struct Samples {
  std::vector<double> ns;
  uint64_t runs_per_sample = 1;
  std::vector<size_t> turns = {};  // the first sample of each turn
  std::vector<size_t> loads = {};  // the first sample of each load of the session
};

struct Spread {
  double median = 0, p5 = 0, p95 = 0, min = 0;  // nanoseconds
};
/// Returns the percentiles of the samples, interpolated between two samples as numpy.percentile
/// does; all 0 when there are no samples.
Spread spread_of(std::vector<double> ns);

/// Loads a session once more, in other memory.
using Reload = std::function<Result<std::unique_ptr<Session>>()>;

/// A session with its inputs, its outputs and the times of its runs.
class TimedSession {
 public:
  /// Makes a context and tensors, and runs once; `first_run_ns` is the time of that run.
  static Result<std::unique_ptr<TimedSession>> make(std::unique_ptr<Session> session,
                                                    std::span<const Tensor> inputs);
  /// Makes the context and the tensors again, in other memory: which pages they are in can change
  /// the time of a run by some percent. Outputs are undefined until the next run.
  Status renew();
  /// Frees the session. The next call is load_again().
  void unload();
  /// Loads the session by `reload`, and makes the context and the tensors again.
  Status load_again();
  Status run() { return session_->run(*context_, in_, out_); }
  const Session& session() const { return *session_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  double first_run_ns() const { return first_run_ns_; }
  const Context& context() const { return *context_; }

  Reload reload;               // may be empty when the plan has one load
  Samples samples;             // of whole runs
  std::vector<Samples> steps;  // of each step of the program, from runs of their own

 private:
  friend class Stopwatch;
  TimedSession() = default;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<DLTensor> in_, out_;
  double first_run_ns_ = 0;
};

struct TimingPlan {
  double warmup_s = 0.2, min_time_s = 1;  // seconds for each session
  uint32_t rounds = 5;                    // the number of turns of each session
  // Samples are the processor time of the calling thread, without that of other processes; for
  // sessions of one thread. Steps are always timed by the clock.
  bool counts_thread_time = false;
  // Makes memory anew before every second turn: the luck of one place in memory is averaged.
  bool renews = false;
  // Times that all sessions are loaded, each for as many rounds: so is the luck of the constants'.
  uint32_t loads = 1;
  // Called after these rounds, and again after each further load: while it returns false, there are
  // more, up to `most_rounds`. Not called, and may be absent, where that is not more than `rounds`.
  std::function<bool()> is_enough = nullptr;
  uint32_t most_rounds = 0;
  bool times_steps = true;  // in runs of their own, after the turns
  double most_steps_s = std::numeric_limits<double>::infinity();  // of those, for each session
};

/// Called with the current phase and its progress; returns false to stop.
using Watch = std::function<bool(std::string_view what, uint64_t done, uint64_t total)>;

/// Fills samples and steps of all sessions. Errors: those of a run; kCancelled, slug "interrupted",
/// when `watch` returns false. The sessions keep the samples measured until then.
Status measure(std::span<TimedSession* const> sessions, const TimingPlan& plan, const Watch& watch);

}  // namespace byoc::driver
