// SPDX-License-Identifier: Apache-2.0
#include "core/measure/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/measure/statistic.h"

namespace byoc::measure {
namespace {

constexpr double kLeastNs = 0.45e6;     // of a sample; at most about twice as much
constexpr double kCalibrateNs = 0.1e6;  // enough runs to estimate one
constexpr double kThreadClockNs = 1e5;  // the thread's clock costs some 100 ns
constexpr double kMostNs = 1e9;         // for all samples of a point or a duel
constexpr double kBeatNs = 1e8;
constexpr size_t kRounds = 6, kFewestRounds = 2;  // of a duel

/// The steps of sampling: their number, and the factor over the best time at which they end.
struct Step {
  size_t samples;
  double hopeless;
};
constexpr Step kSteps[] = {{3, 1.25}, {10, 1.08}, {30, 0}};

}  // namespace

Sampler::Sampler(std::function<Status()> run, const SamplerOptions& options)
    : run_(std::move(run)), options_(options) {}

Result<Sampler::Times> Sampler::time_runs(uint64_t count) {
  const double thread_begin = options_.clock.thread_ns(), begin = options_.clock.wall_ns();
  for (uint64_t k = 0; k < count; ++k) BYOC_TRY_STATUS(run_());
  const Times times{options_.clock.wall_ns() - begin, options_.clock.thread_ns() - thread_begin};
  if (times.wall > kBeatNs / 2) options_.beat();
  return times;
}

Status Sampler::calibrate() {
  for (uint64_t count = 1;; count *= 2) {
    BYOC_TRY(Times times, time_runs(count));
    const double ns = options_.counts_thread_time ? times.thread : times.wall;
    if (ns < kCalibrateNs) continue;
    const double runs = std::ceil(kLeastNs * static_cast<double>(count) / ns);
    runs_ = options_.is_cold ? 1 : static_cast<uint64_t>(runs);
    return {};
  }
}

Result<double> Sampler::sample() {
  if (options_.is_cold) empty_caches();
  BYOC_TRY(Times times, time_runs(runs_));
  const bool is_long = times.thread >= kThreadClockNs;
  const double ns = options_.counts_thread_time && is_long ? times.thread : times.wall;
  return ns / static_cast<double>(runs_);
}

Result<std::vector<double>> sample_until_clear(Sampler& sampler, double best_ns, double most_ns) {
  std::vector<double> out;
  const double begin = sampler.wall_ns();
  const size_t least = most_ns < kMostNs ? 1 : kSteps[0].samples;
  for (const Step& step : kSteps) {
    while (out.size() < step.samples) {
      if (out.size() >= least && sampler.wall_ns() - begin > most_ns) return out;
      BYOC_TRY(double ns, sampler.sample());
      out.push_back(ns);
    }
    if (time_of(out) > step.hopeless * best_ns) break;
  }
  return out;
}

bool is_bound_by_weights(double flops, double bytes, double weight_bytes) {
  constexpr double kMostFlopsPerByte = 1, kLeastShare = 0.5, kFewBytes = 64 << 10;
  return weight_bytes > kFewBytes && weight_bytes >= kLeastShare * bytes &&
         flops <= kMostFlopsPerByte * weight_bytes;
}

Result<Duel> duel(Sampler& a, Sampler& b) {
  Duel out;
  std::vector<double> a_blocks, b_blocks;
  const double begin = a.wall_ns();
  for (size_t round = 0; round < kRounds; ++round) {
    if (round >= kFewestRounds && a.wall_ns() - begin > kMostNs) break;
    std::array<double, 4> ns{};
    Sampler* const order[] = {&a, &b, &b, &a};
    for (size_t k = 0; k < ns.size(); ++k) {
      BYOC_TRY(ns[k], order[k]->sample());
    }
    a_blocks.push_back((ns[0] + ns[3]) / 2);
    b_blocks.push_back((ns[1] + ns[2]) / 2);
    out.a_ns.insert(out.a_ns.end(), {ns[0], ns[3]});
    out.b_ns.insert(out.b_ns.end(), {ns[1], ns[2]});
  }
  out.gain = ratio_of(b_blocks, a_blocks).ratio;
  return out;
}

}  // namespace byoc::measure
