#pragma once
// Timing sessions: warm up, then take turns, so that a slow minute of the machine falls on all
// alike.
#include <functional>
#include <span>

#include "byoc/runtime/session.h"

namespace byoc::driver {

/// Times of one thing in the order they were taken; one sample is the mean of `runs_per_sample`
/// runs.
struct Samples {
  std::vector<double> ns;
  uint64_t runs_per_sample = 1;
};

struct Spread {
  double median = 0, p5 = 0, p95 = 0, min = 0;  // nanoseconds
};
/// Percentiles between two samples are interpolated, as numpy.percentile does. All 0 without
/// samples.
Spread spread_of(std::vector<double> ns);

/// A session with its inputs and outputs in place: nothing but the run is left to be done.
class Subject {
 public:
  /// Runs once; `first_run_ns` is that run's time.
  static Result<std::unique_ptr<Subject>> make(std::unique_ptr<Session> session,
                                               std::span<const Tensor> inputs);
  Status run() { return session_->run(*context_, in_, out_); }
  const Session& session() const { return *session_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  double first_run_ns() const { return first_run_ns_; }
  const Context& context() const { return *context_; }

  Samples samples;             // of whole runs
  std::vector<Samples> steps;  // of each step of the program, from runs of their own

 private:
  friend class Stopwatch;
  Subject() = default;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<DLTensor> in_, out_;
  double first_run_ns_ = 0;
};

struct TimingPlan {
  double warmup_s = 0.2, min_time_s = 1;  // of each subject
  uint32_t rounds = 5;                    // in so many turns
};

/// What is going on and how far it is; returns false to stop.
using Watch = std::function<bool(std::string_view what, uint64_t done, uint64_t total)>;

/// Fills samples and steps of all subjects. Errors: those of a run; kCancelled, slug "interrupted",
/// when `watch` said to stop: what was measured until then stays.
Status measure(std::span<Subject* const> subjects, const TimingPlan& plan, const Watch& watch);

}  // namespace byoc::driver
