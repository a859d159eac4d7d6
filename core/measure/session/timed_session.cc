// SPDX-License-Identifier: Apache-2.0
#include "core/measure/session/timed_session.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "runtime/session/repeated_runs.h"

namespace byoc::measure {
namespace {

constexpr uint64_t kMostProfiledRuns = 200;
constexpr double kMostProfiledTimes = 2e6;  // steps times runs: 16 MB

Result<std::vector<Tensor>> make_tensors(const std::vector<TensorSpec>& types) {
  std::vector<Tensor> out;
  for (const TensorSpec& type : types) {
    BYOC_TRY(Tensor tensor, Tensor::make(type));
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace

TimedSession::TimedSession() = default;
TimedSession::~TimedSession() = default;

Status TimedSession::run() { return runs_->run(*session_, *context_, in_, out_); }

Result<std::unique_ptr<TimedSession>> TimedSession::make(std::unique_ptr<Session> session,
                                                         std::span<const Tensor> inputs) {
  std::unique_ptr<TimedSession> out(new TimedSession);
  out->session_ = std::move(session);
  for (const Tensor& input : inputs) {
    BYOC_TRY(Tensor copy, input.copy());
    out->inputs_.push_back(std::move(copy));
  }
  BYOC_TRY_STATUS(out->renew());
  const uint64_t begin_ns = now_ns();
  BYOC_TRY_STATUS(out->run());
  out->first_run_ns_ = ns_since(begin_ns);
  return out;
}

Status TimedSession::renew() {
  BYOC_TRY(std::unique_ptr<Context> context, session_->make_context());
  std::vector<Tensor> inputs;
  for (const Tensor& input : inputs_) {
    BYOC_TRY(Tensor copy, input.copy());
    inputs.push_back(std::move(copy));
  }
  std::vector<DLTensor> views;
  for (const Tensor& tensor : inputs) views.push_back(tensor.view());
  BYOC_TRY(const std::vector<TensorSpec> types, session_->output_types(views));
  BYOC_TRY(std::vector<Tensor> outputs, make_tensors(types));
  // Frees the old memory after the new was made, so that the new is elsewhere.
  context_ = std::move(context);
  runs_ = std::make_unique<RepeatedRuns>();
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  in_.clear();
  out_.clear();
  for (const Tensor& tensor : inputs_) in_.push_back(tensor.view());
  for (const Tensor& tensor : outputs_) out_.push_back(tensor.view());
  return {};
}

void TimedSession::unload() {
  context_.reset();
  session_.reset();
}

Status TimedSession::load_again() {
  BYOC_CHECK(reload != nullptr, "a session that is loaded again has a function for it");
  BYOC_TRY(session_, reload());
  return renew();
}

Status TimedSession::profile_steps(const TimingPlan& plan, const Watch& watch) {
  const Session& session = *session_;
  const size_t count = session.program().steps.size();
  steps.assign(count, {});
  session.set_profiling(*context_, true);
  std::vector<uint64_t> before(count);
  const uint64_t begin_ns = now_ns();
  uint64_t most =
      static_cast<uint64_t>(std::clamp(kMostProfiledTimes / static_cast<double>(count + 1), 1.0,
                                       static_cast<double>(kMostProfiledRuns)));
  const double most_ns = std::min(plan.min_time_s, plan.most_steps_s) * 1e9;
  auto has_time = [&] { return ns_since(begin_ns) < most_ns; };
  for (uint64_t runs = 0; runs < most && (runs == 0 || has_time()); ++runs) {
    if (!watch("timing steps", runs, most)) return interrupted();
    BYOC_TRY_STATUS(run());
    for (size_t k = 0; k < count; ++k) {
      uint64_t total = session.profile(*context_)[k].total_ns;
      steps[k].ns.push_back(static_cast<double>(total - before[k]));
      before[k] = total;
    }
  }
  session.set_profiling(*context_, false);
  return {};
}

Status time_in_turns(std::span<TimedSession* const> sessions, const TimingPlan& given,
                     const Watch& watch) {
  TimingPlan plan = given;
  for (const TimedSession* timed : sessions) {  // the thread sleeps while a device works
    if (!timed->session().program().devices.empty()) plan.counts_thread_time = false;
  }
  std::vector<Subject> subjects;
  for (TimedSession* timed : sessions)
    subjects.push_back({[timed] { return timed->run(); }, [timed] { return timed->renew(); },
                        [timed] { timed->unload(); }, [timed] { return timed->load_again(); },
                        &timed->samples});
  BYOC_TRY_STATUS(take_turns(subjects, plan, watch));
  if (!plan.times_steps) return {};
  uint64_t done = sessions.size() * (plan.rounds + uint64_t{1});
  for (TimedSession* timed : sessions) {
    const uint64_t total = sessions.size() * (plan.rounds + uint64_t{2});
    BYOC_TRY_STATUS(timed->profile_steps(plan, [&](std::string_view what, uint64_t, uint64_t) {
      return watch(what, std::min(done, total), total);
    }));
    ++done;
  }
  return {};
}

}  // namespace byoc::measure
