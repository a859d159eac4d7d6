// SPDX-License-Identifier: Apache-2.0
#include "core/measure/turns.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace byoc::measure {
namespace {

// A clock read costs about 20 ns, so a sample of 20 us has an error of 0.1 %. More samples than
// this do not change the percentiles noticeably.
constexpr double kShortestSampleNs = 20'000, kMostSamples = 10'000;

// A turn ends at that many times its length, however little of it the thread ran.
constexpr double kLongestTurn = 4;

/// Runs the phases of measuring one subject.
class Stopwatch {
 public:
  Stopwatch(const Subject& subject, const TimingPlan& plan, const Watch& watch)
      : subject_(subject), plan_(plan), watch_(watch) {}

  Status warm_up() {
    const double begin_ns = plan_.clock.wall_ns();
    double runs = 0, spent = 0;
    do {
      BYOC_TRY_STATUS(run("warming up"));
      ++runs;
      spent = plan_.clock.wall_ns() - begin_ns;
    } while (spent < plan_.warmup_s * 1e9);
    double sample_ns = std::max(kShortestSampleNs, plan_.min_time_s * 1e9 / kMostSamples);
    subject_.samples->runs_per_sample =
        static_cast<uint64_t>(std::max(1.0, std::ceil(sample_ns * runs / spent)));
    return {};
  }

  /// Takes at least one sample. A run before the samples is not counted, since another session has
  /// used the caches before it.
  Status take_turn() {
    if (plan_.renews && subject_.samples->turns.size() % 2 == 0) BYOC_TRY_STATUS(subject_.renew());
    BYOC_TRY_STATUS(run("measuring"));
    const double turn_ns = plan_.min_time_s * 1e9 / std::max(plan_.rounds, 1u);
    const double turn_begin_ns = plan_.clock.wall_ns();
    double counted_ns = 0;
    subject_.samples->turns.push_back(subject_.samples->ns.size());
    if (std::exchange(is_loaded_, false))
      subject_.samples->loads.push_back(subject_.samples->ns.size());
    do {
      const double begin_ns = plan_.clock.wall_ns();
      const double thread_begin_ns = plan_.counts_thread_time ? plan_.clock.thread_ns() : 0;
      for (uint64_t k = 0; k < subject_.samples->runs_per_sample; ++k)
        BYOC_TRY_STATUS(subject_.run());
      double spent = plan_.counts_thread_time ? plan_.clock.thread_ns() - thread_begin_ns
                                              : plan_.clock.wall_ns() - begin_ns;
      subject_.samples->ns.push_back(spent /
                                     static_cast<double>(subject_.samples->runs_per_sample));
      if (!watch_("measuring", done_, total_)) return interrupted();
      counted_ns += spent;
    } while (counted_ns < turn_ns &&
             plan_.clock.wall_ns() - turn_begin_ns < kLongestTurn * turn_ns);
    return {};
  }

  void unload() { subject_.unload(); }

  Status load_again() {
    is_loaded_ = true;
    return subject_.load_again();
  }

  /// Runs after a load. A first run may prepare more, and is not measured.
  Status first_run() { return run("loading again"); }

  void set_progress(uint64_t done, uint64_t total) { done_ = done, total_ = total; }

 private:
  Status run(std::string_view what) {
    if (!watch_(what, done_, total_)) return interrupted();
    return subject_.run();
  }

  const Subject& subject_;
  const TimingPlan& plan_;
  const Watch& watch_;
  uint64_t done_ = 0, total_ = 0;
  bool is_loaded_ = true;  // since the last turn
};

}  // namespace

Status interrupted() {
  return Status(Code::kCancelled, "interrupted while measuring").with_slug("interrupted");
}

Status take_turns(std::span<const Subject> subjects, const TimingPlan& plan, const Watch& watch) {
  std::vector<Stopwatch> watches;
  for (const Subject& subject : subjects) watches.emplace_back(subject, plan, watch);
  std::vector<Stopwatch*> order;
  for (Stopwatch& stopwatch : watches) order.push_back(&stopwatch);
  uint64_t done = 0, total = subjects.size() * (plan.rounds + uint64_t{2});
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
    total += subjects.size() * uint64_t{per_load};
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
  return {};
}

}  // namespace byoc::measure
