// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/measure.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "byoc/base/clock.h"
#include "core/tools/model/execute.h"

namespace byoc::driver {
namespace {

// A clock read costs about 20 ns, so a sample of 20 us has an error of 0.1 %. More samples than
// this do not change the percentiles noticeably.
constexpr double kShortestSampleNs = 20'000, kMostSamples = 10'000;
constexpr uint64_t kMostProfiledRuns = 200;
constexpr double kMostProfiledTimes = 2e6;  // steps times runs: 16 MB

double percentile(const std::vector<double>& sorted, double part) {
  double at = part * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// A turn ends at that many times its length, however little of it the thread ran.
constexpr double kLongestTurn = 4;

double thread_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Status interrupted() {
  return Status(Code::kCancelled, "interrupted while measuring").with_slug("interrupted");
}

}  // namespace

Spread spread_of(std::vector<double> ns) {
  if (ns.empty()) return {};
  std::sort(ns.begin(), ns.end());
  return {percentile(ns, 0.5), percentile(ns, 0.05), percentile(ns, 0.95), ns.front()};
}

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
  BYOC_TRY(std::vector<Tensor> outputs, make_tensors(session_->outputs()));
  // Frees the old memory after the new was made, so that the new is elsewhere.
  context_ = std::move(context);
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

/// Runs the phases of measuring one session.
class Stopwatch {
 public:
  Stopwatch(TimedSession& timed, const TimingPlan& plan, const Watch& watch)
      : timed_(timed), plan_(plan), watch_(watch) {}

  Status warm_up() {
    const uint64_t begin_ns = now_ns();
    double runs = 0, spent = 0;
    do {
      BYOC_TRY_STATUS(run("warming up"));
      ++runs;
      spent = ns_since(begin_ns);
    } while (spent < plan_.warmup_s * 1e9);
    double sample_ns = std::max(kShortestSampleNs, plan_.min_time_s * 1e9 / kMostSamples);
    timed_.samples.runs_per_sample =
        static_cast<uint64_t>(std::max(1.0, std::ceil(sample_ns * runs / spent)));
    return {};
  }

  /// Takes at least one sample. A run before the samples is not counted, since another session has
  /// used the caches before it.
  Status take_turn() {
    if (plan_.renews && timed_.samples.turns.size() % 2 == 0) BYOC_TRY_STATUS(timed_.renew());
    BYOC_TRY_STATUS(run("measuring"));
    const double turn_ns = plan_.min_time_s * 1e9 / std::max(plan_.rounds, 1u);
    const uint64_t turn_begin_ns = now_ns();
    double counted_ns = 0;
    timed_.samples.turns.push_back(timed_.samples.ns.size());
    if (std::exchange(is_loaded_, false)) timed_.samples.loads.push_back(timed_.samples.ns.size());
    do {
      const uint64_t begin_ns = now_ns();
      const double thread_begin_ns = plan_.counts_thread_time ? thread_now_ns() : 0;
      for (uint64_t k = 0; k < timed_.samples.runs_per_sample; ++k) BYOC_TRY_STATUS(timed_.run());
      double spent =
          plan_.counts_thread_time ? thread_now_ns() - thread_begin_ns : ns_since(begin_ns);
      timed_.samples.ns.push_back(spent / static_cast<double>(timed_.samples.runs_per_sample));
      if (!watch_("measuring", done_, total_)) return interrupted();
      counted_ns += spent;
    } while (counted_ns < turn_ns && ns_since(turn_begin_ns) < kLongestTurn * turn_ns);
    return {};
  }

  void unload() { timed_.unload(); }

  Status load_again() {
    is_loaded_ = true;
    return timed_.load_again();
  }

  /// Runs after a load. A first run may prepare more, and is not measured.
  Status first_run() { return run("loading again"); }

  Status profile_steps() {
    const Session& session = *timed_.session_;
    size_t steps = session.program().steps.size();
    timed_.steps.assign(steps, {});
    session.set_profiling(*timed_.context_, true);
    std::vector<uint64_t> before(steps);
    const uint64_t begin_ns = now_ns();
    uint64_t most =
        static_cast<uint64_t>(std::clamp(kMostProfiledTimes / static_cast<double>(steps + 1), 1.0,
                                         static_cast<double>(kMostProfiledRuns)));
    const double most_ns = std::min(plan_.min_time_s, plan_.most_steps_s) * 1e9;
    auto has_time = [&] { return ns_since(begin_ns) < most_ns; };
    for (uint64_t runs = 0; runs < most && (runs == 0 || has_time()); ++runs) {
      BYOC_TRY_STATUS(run("timing steps"));
      for (size_t k = 0; k < steps; ++k) {
        uint64_t total = session.profile(*timed_.context_)[k].total_ns;
        timed_.steps[k].ns.push_back(static_cast<double>(total - before[k]));
        before[k] = total;
      }
    }
    session.set_profiling(*timed_.context_, false);
    return {};
  }

  void set_progress(uint64_t done, uint64_t total) { done_ = done, total_ = total; }

 private:
  Status run(std::string_view what) {
    if (!watch_(what, done_, total_)) return interrupted();
    return timed_.run();
  }

  TimedSession& timed_;
  const TimingPlan& plan_;
  const Watch& watch_;
  uint64_t done_ = 0, total_ = 0;
  bool is_loaded_ = true;  // since the last turn
};

Status measure(std::span<TimedSession* const> sessions, const TimingPlan& plan,
               const Watch& watch) {
  std::vector<Stopwatch> watches;
  for (TimedSession* timed : sessions) watches.emplace_back(*timed, plan, watch);
  std::vector<Stopwatch*> order;
  for (Stopwatch& stopwatch : watches) order.push_back(&stopwatch);
  uint64_t done = 0, total = sessions.size() * (plan.rounds + uint64_t{2});
  auto each = [&](auto&& phase) -> Status {
    for (Stopwatch* stopwatch : order) {
      stopwatch->set_progress(done++, total);
      BYOC_TRY_STATUS(phase(*stopwatch));
    }
    return {};
  };
  BYOC_TRY_STATUS(each([](Stopwatch& s) { return s.warm_up(); }));
  // Each load has whole blocks of two rounds.
  const uint32_t per_load = std::max((plan.rounds / std::max(plan.loads, 1u) + 1) / 2 * 2, 2u);
  auto goes_on = [&](uint32_t round) {
    if (round < plan.rounds) return true;
    if (round >= plan.most_rounds) return false;
    if (round % per_load != 0) return true;
    if (plan.is_enough()) return false;
    total += sessions.size() * uint64_t{per_load};
    return true;
  };
  for (uint32_t round = 0; goes_on(round); ++round) {
    if (plan.loads > 1 && round > 0 && round % per_load == 0) {
      for (Stopwatch* stopwatch : order) stopwatch->unload();
      ::malloc_trim(0);  // so that freed pages are not simply used again
      for (Stopwatch* stopwatch : order) BYOC_TRY_STATUS(stopwatch->load_again());
      for (Stopwatch* stopwatch : order) BYOC_TRY_STATUS(stopwatch->first_run());  // may interrupt
    }
    BYOC_TRY_STATUS(each([](Stopwatch& s) { return s.take_turn(); }));
    std::reverse(order.begin(), order.end());
  }
  return plan.times_steps ? each([](Stopwatch& s) { return s.profile_steps(); }) : Status();
}

}  // namespace byoc::driver
