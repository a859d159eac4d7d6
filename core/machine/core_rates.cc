// SPDX-License-Identifier: Apache-2.0
#include "core/machine/core_rates.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "core/machine/bound_threads.h"
#include "core/machine/peak_loops.h"
#include "core/measure/statistic.h"

namespace byoc::machine {
namespace {

constexpr int kRateRuns = 5;
constexpr uint32_t kRateTrips = 2000;
constexpr double kRateTripsNs = 1e8;  // for all of them, on a busy machine

}  // namespace

std::vector<size_t> processors() {
  cpu_set_t set;
  std::vector<size_t> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (size_t k = 0; k < CPU_SETSIZE; ++k) {
    if (CPU_ISSET(k, &set)) out.push_back(k);
  }
  return out;
}

void stay_on(size_t processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  static_cast<void>(::sched_setaffinity(0, sizeof set, &set));  // else it runs where it is put
}

double round_trip_ns(const std::vector<size_t>& on, uint32_t trips, double limit_ns) {
  alignas(64) std::atomic<uint32_t> turn = 0;
  Patience patience(limit_ns);
  const double ns = bound_ns(2, on, [&](uint32_t thread) {
    for (uint32_t k = thread; k < 2 * trips; k += 2) {
      if (!patience.wait([&] { return turn.load(std::memory_order_acquire) == k; })) return;
      turn.store(k + 1, std::memory_order_release);
    }
  });
  return patience.is_over() ? std::numeric_limits<double>::infinity() : ns / trips;
}

CoreRates measure_cores(uint32_t threads) {
  const std::vector<size_t> on = processors();
  CoreRates rates{.threads = std::max(1u, threads)};
  rates.cores = std::min(rates.threads, std::max(1u, static_cast<uint32_t>(on.size())));
  if (rates.cores > 1) {
    std::vector<double> trips;
    for (int run = 0; run < kRateRuns; ++run) {
      const double ns = round_trip_ns(on, kRateTrips, kRateTripsNs);
      if (std::isfinite(ns)) trips.push_back(ns);
    }
    rates.round_trip_ns = measure::spread_of(std::move(trips)).median;
  }
  const Peak peak = has_avx512() ? Peak::kF32x512 : Peak::kF32x256;
  if (!has_peak(peak)) return rates;
  const double operations = operations_of(peak);
  std::vector<double> one, all;
  for (int run = 0; run < kRateRuns; ++run) {
    auto work = [&](uint32_t) { rate_of(peak); };
    one.push_back(operations / bound_ns(1, on, work));
    all.push_back(operations * rates.threads / bound_ns(rates.threads, on, work));
  }
  rates.one_gflop_per_s = measure::spread_of(std::move(one)).median;
  rates.all_gflop_per_s = measure::spread_of(std::move(all)).median;
  return rates;
}

}  // namespace byoc::machine
