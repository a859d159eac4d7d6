// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times sessions: a session, its inputs and its outputs are one subject of turns.h.
#include <span>

#include "byoc/runtime/session.h"
#include "core/measure/turns.h"

namespace byoc {
class RepeatedRuns;
}

namespace byoc::measure {

/// Loads a session once more, in other memory.
using Reload = std::function<Result<std::unique_ptr<Session>>()>;

/// A session with its inputs, its outputs and the times of its runs.
class TimedSession {
 public:
  ~TimedSession();
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
  Status run();
  const Session& session() const { return *session_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  double first_run_ns() const { return first_run_ns_; }
  const Context& context() const { return *context_; }
  /// Fills `steps` from runs with a clock around each step.
  Status profile_steps(const TimingPlan& plan, const Watch& watch);

  Reload reload;               // may be empty when the plan has one load
  Samples samples;             // of whole runs
  std::vector<Samples> steps;  // of each step of the program, from runs of their own

 private:
  TimedSession();
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<DLTensor> in_, out_;
  double first_run_ns_ = 0;
  std::unique_ptr<RepeatedRuns> runs_;  // of the context
};

/// Fills samples and steps of all sessions, in turns. When a program has devices, all samples are
/// times of the clock. Errors: those of a run; kCancelled, slug
/// "interrupted", when `watch` returns false. The sessions keep the samples measured until then.
Status time_in_turns(std::span<TimedSession* const> sessions, const TimingPlan& plan,
                     const Watch& watch);

}  // namespace byoc::measure
