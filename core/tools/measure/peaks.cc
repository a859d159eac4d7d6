// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/peaks.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "byoc/base/clock.h"
#include "core/measure/statistic.h"
#include "core/tools/measure/fma_peak.h"

namespace byoc::driver {
namespace {

constexpr int kPeakRuns = 5;
constexpr uint32_t kTrips = 2000;
constexpr size_t kReadBytes = size_t{256} << 20;  // of all threads; larger than caches

using Lanes = uint64_t __attribute__((vector_size(32)));

/// Returns the sum of the elements, which depends on all of them, with four independent sums.
uint64_t read_all(const Lanes* data, size_t n) {
  Lanes sums[4] = {};
  for (size_t k = 0; k + 4 <= n; k += 4) {
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] += data[k + lane];
  }
  Lanes sum = sums[0] + sums[1] + sums[2] + sums[3];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/// Runs `work(thread)` on all threads at once, several times, and returns the shortest time in
/// nanoseconds from the common start to the end of the last thread.
template <class Work>
double shortest_ns(uint32_t threads, Work&& work) {
  double best = 0;
  uint64_t begin = 0;
  int run = 0;
  std::barrier start(threads, [&]() noexcept { begin = now_ns(); });
  std::barrier finish(threads, [&]() noexcept {
    double ns = ns_since(begin);
    best = run++ == 0 ? ns : std::min(best, ns);
  });
  auto loop = [&](uint32_t thread) {
    for (int k = 0; k < kPeakRuns; ++k) {
      start.arrive_and_wait();
      work(thread);
      finish.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (uint32_t thread = 1; thread < threads; ++thread) others.emplace_back(loop, thread);
  loop(0);
  for (std::thread& other : others) other.join();
  return best;
}

/// Returns the processors that this thread may use; empty when they are not known.
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

/// Calls `work(thread)` once on as many new threads, each bound to another processor, since the
/// scheduler puts threads that wake each other on one for some milliseconds. Returns nanoseconds
/// from the common start to the end of the last thread.
template <class Work>
double bound_ns(uint32_t threads, const std::vector<size_t>& on, Work&& work) {
  uint64_t begin = 0;
  double ns = 0;
  std::barrier start(threads, [&]() noexcept { begin = now_ns(); });
  std::barrier finish(threads, [&]() noexcept { ns = ns_since(begin); });
  std::vector<std::thread> all;
  for (uint32_t thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      if (!on.empty()) stay_on(on[thread % on.size()]);
      start.arrive_and_wait();
      work(thread);
      finish.arrive_and_wait();
    });
  }
  for (std::thread& thread : all) thread.join();
  return ns;
}

/// Returns the time that a value takes from the first processor to the second and back.
double round_trip_ns(const std::vector<size_t>& on) {
  alignas(64) std::atomic<uint32_t> turn = 0;
  const double ns = bound_ns(2, on, [&](uint32_t thread) {
    for (uint32_t k = thread; k < 2 * kTrips; k += 2) {
      while (turn.load(std::memory_order_acquire) != k) {
      }
      turn.store(k + 1, std::memory_order_release);
    }
  });
  return ns / kTrips;
}

}  // namespace

Peaks measure_peaks(uint32_t threads) {
  Peaks peaks{threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency()), 0, 0};
  std::vector<double> rates(peaks.threads);
  shortest_ns(peaks.threads, [&](uint32_t thread) {
    rates[thread] = std::max({rates[thread], fma_rate(false), fma_rate(true)});
  });
  for (double rate : rates) peaks.gflop_per_s += rate;
  const size_t share = kReadBytes / sizeof(Lanes) / peaks.threads;
  std::vector<Lanes> data(share * peaks.threads, Lanes{1, 2, 3, 4});
  std::vector<uint64_t> sums(peaks.threads);
  double ns = shortest_ns(peaks.threads, [&](uint32_t thread) {
    sums[thread] += read_all(data.data() + share * thread, share);
  });
  double bytes = static_cast<double>(share * peaks.threads * sizeof(Lanes));
  // Dividing by a sum that is never 0 keeps the reads.
  peaks.gb_per_s = sums[0] == 0 ? 0 : bytes / ns;
  return peaks;
}

CoreRates measure_cores(uint32_t threads) {
  const std::vector<size_t> on = processors();
  CoreRates rates{.threads = std::max(1u, threads)};
  rates.cores = std::min(rates.threads, std::max(1u, static_cast<uint32_t>(on.size())));
  if (rates.cores > 1) {
    std::vector<double> trips;
    for (int run = 0; run < kPeakRuns; ++run) trips.push_back(round_trip_ns(on));
    rates.round_trip_ns = measure::spread_of(std::move(trips)).median;
  }
  const bool wide = has_avx512();
  if (fma_rate(wide) == 0) return rates;
  std::vector<double> one, all;
  for (int run = 0; run < kPeakRuns; ++run) {
    auto work = [&](uint32_t) { fma_rate(wide); };
    one.push_back(fma_flops(wide) / bound_ns(1, on, work));
    all.push_back(fma_flops(wide) * rates.threads / bound_ns(rates.threads, on, work));
  }
  rates.one_gflop_per_s = measure::spread_of(std::move(one)).median;
  rates.all_gflop_per_s = measure::spread_of(std::move(all)).median;
  return rates;
}

}  // namespace byoc::driver
