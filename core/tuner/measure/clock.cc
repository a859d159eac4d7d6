// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/clock.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include "byoc/base/clock.h"

namespace byoc::tune {
namespace {

constexpr double kLeastNs = 0.45e6;     // of a sample; at most about twice as much
constexpr double kCalibrateNs = 0.1e6;  // enough runs to estimate one
constexpr double kThreadClockNs = 1e5;  // the thread's clock costs some 100 ns
constexpr double kMostNs = 1e9;         // for all samples of a point
constexpr double kBeatNs = 1e8;
constexpr size_t kRounds = 6, kFewestRounds = 2;  // of a duel

/// The steps of sampling: their number, and the factor over the best time at which they end.
struct Step {
  size_t samples;
  double hopeless;
};
constexpr Step kSteps[] = {{3, 1.25}, {10, 1.08}, {30, 0}};

/// Returns the bytes that replace the contents of this machine's caches, within bounds: the last
/// cache of a large machine is shared by cores that a run does not use.
size_t eviction_bytes() {
  constexpr long kMost = 32 << 20, kCaches = 4;
  const long l2 = std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 1L << 20);
  return static_cast<size_t>(std::clamp(sysconf(_SC_LEVEL3_CACHE_SIZE), kCaches * l2, kMost));
}

void empty_caches() {
  static std::vector<uint64_t>& lines = *new std::vector<uint64_t>(eviction_bytes() / 8);
  for (size_t k = 0; k < lines.size(); k += 8) ++lines[k];
}

double smallest(const std::vector<double>& ns) { return *std::min_element(ns.begin(), ns.end()); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double real_wall_ns() { return static_cast<double>(now_ns()); }

double real_thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

KernelClock::KernelClock(std::function<Status()> run, const ClockOptions& options)
    : run_(std::move(run)), options_(options) {}

Result<KernelClock::Times> KernelClock::time_runs(uint64_t count) {
  const double thread_begin = options_.thread_ns(), begin = options_.wall_ns();
  for (uint64_t k = 0; k < count; ++k) BYOC_TRY_STATUS(run_());
  const Times times{options_.wall_ns() - begin, options_.thread_ns() - thread_begin};
  if (times.wall > kBeatNs / 2) options_.beat();
  return times;
}

Status KernelClock::calibrate() {
  for (uint64_t count = 1;; count *= 2) {
    BYOC_TRY(Times times, time_runs(count));
    const double ns = options_.counts_thread_time ? times.thread : times.wall;
    if (ns < kCalibrateNs) continue;
    const double runs = std::ceil(kLeastNs * static_cast<double>(count) / ns);
    runs_ = options_.is_cold ? 1 : static_cast<uint64_t>(runs);
    return {};
  }
}

Result<double> KernelClock::sample() {
  if (options_.is_cold) empty_caches();
  BYOC_TRY(Times times, time_runs(runs_));
  const bool is_long = times.thread >= kThreadClockNs;
  const double ns = options_.counts_thread_time && is_long ? times.thread : times.wall;
  return ns / static_cast<double>(runs_);
}

Result<std::vector<double>> sample_until_clear(KernelClock& clock, double best_ns) {
  std::vector<double> out;
  const double begin = clock.wall_ns();
  for (const Step& step : kSteps) {
    while (out.size() < step.samples) {
      if (out.size() >= kSteps[0].samples && clock.wall_ns() - begin > kMostNs) return out;
      BYOC_TRY(double ns, clock.sample());
      out.push_back(ns);
    }
    if (smallest(out) > step.hopeless * best_ns) break;
  }
  return out;
}

Result<Duel> duel(KernelClock& a, KernelClock& b) {
  Duel out;
  std::vector<double> gains;
  const double begin = a.wall_ns();
  for (size_t round = 0; round < kRounds; ++round) {
    if (round >= kFewestRounds && a.wall_ns() - begin > kMostNs) break;
    std::array<double, 4> ns{};
    KernelClock* const order[] = {&a, &b, &b, &a};
    for (size_t k = 0; k < ns.size(); ++k) {
      BYOC_TRY(ns[k], order[k]->sample());
    }
    gains.push_back((ns[0] + ns[3]) / (ns[1] + ns[2]));
    out.a_ns.insert(out.a_ns.end(), {ns[0], ns[3]});
    out.b_ns.insert(out.b_ns.end(), {ns[1], ns[2]});
  }
  out.gain = median(std::move(gains));
  return out;
}

double reference_loop_ns() {
  constexpr size_t kFloats = 4096;  // 16 KiB
  constexpr int kPasses = 200, kRepetitions = 8;
  static std::array<float, kFloats> values{};
  double best = std::numeric_limits<double>::infinity();
  volatile float sink = 0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const double begin = real_thread_ns();
    for (int pass = 0; pass < kPasses; ++pass) {
      for (float& value : values) value = value * 0.999F + 0.25F;
      sink = values[static_cast<size_t>(pass)];
    }
    best = std::min(best, (real_thread_ns() - begin) / kPasses);
  }
  (void)sink;
  return best;
}

}  // namespace byoc::tune
