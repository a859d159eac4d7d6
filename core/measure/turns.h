// SPDX-License-Identifier: Apache-2.0
#pragma once
// Subjects that are warmed up, then measured in turns, so that a slow minute of the machine affects
// all of them. Every second round has the opposite order: two rounds are A B B A.
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "byoc/base/status.h"
#include "core/measure/clock.h"
#include "core/measure/statistic.h"

namespace byoc::measure {

/// The functions of something to measure: one run of it, and ways to make it anew, which may be
/// empty when the plan neither renews nor loads again.
struct Subject {
  std::function<Status()> run;
  std::function<Status()> renew = nullptr;       ///< gets other memory
  std::function<void()> unload = nullptr;        ///< frees it; the next call is load_again
  std::function<Status()> load_again = nullptr;  ///< makes it in other memory
  Samples* samples = nullptr;                    ///< receives the times
};

struct TimingPlan {
  double warmup_s = 0.2, min_time_s = 1;  // seconds for each subject
  uint32_t rounds = 5;                    // the number of turns of each subject
  // Samples are the processor time of the calling thread, without that of other processes; for
  // sessions of one thread. Steps are always timed by the clock.
  bool counts_thread_time = false;
  // Makes memory anew before every second turn: the luck of one place in memory is averaged.
  bool renews = false;
  // Times that all subjects are loaded, each for as many rounds: so is the luck of the constants'.
  uint32_t loads = 1;
  // Called after these rounds, and again after each further load: while it returns false, there are
  // more, up to `most_rounds`. Not called, and may be absent, where that is not more than `rounds`.
  std::function<bool()> is_enough = nullptr;
  uint32_t most_rounds = 0;
  bool times_steps = true;  // in runs of their own, after the turns
  double most_steps_s = std::numeric_limits<double>::infinity();  // of those, for each session
  Clock clock = {};
};

/// Called with the current phase and its progress; returns false to stop.
using Watch = std::function<bool(std::string_view what, uint64_t done, uint64_t total)>;

/// Fills the samples of all subjects. Errors: those of a run; kCancelled, slug "interrupted", when
/// `watch` returns false. The samples measured until then are kept.
Status take_turns(std::span<const Subject> subjects, const TimingPlan& plan, const Watch& watch);

/// Returns the error of a measurement that `watch` ended.
Status interrupted();

}  // namespace byoc::measure
