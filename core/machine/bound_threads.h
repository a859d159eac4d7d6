// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that are bound to a processor each, under the clock.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "byoc/base/clock.h"
#include "core/measure/clock.h"

namespace byoc::machine {

/// Returns the processors that this thread may use; empty when they are not known.
std::vector<size_t> processors();
/// Binds this thread to a processor. Where that fails, it runs where it is put.
void stay_on(size_t processor);

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

/// The same with the processor time of the thread that takes longest, in which other processes of a
/// busy machine have no share.
template <class Work>
double bound_cpu_ns(uint32_t threads, const std::vector<size_t>& on, Work&& work) {
  std::vector<double> ns(threads);
  bound_ns(threads, on, [&](uint32_t thread) {
    const double begin = measure::real_thread_ns();
    work(thread);
    ns[thread] = measure::real_thread_ns() - begin;
  });
  return *std::max_element(ns.begin(), ns.end());
}

/// A wait of threads for each other that gives up after some time: on a busy machine a thread may
/// be without its processor for long.
class Patience {
 public:
  explicit Patience(double limit_ns) : end_(now_ns() + static_cast<uint64_t>(limit_ns)) {}
  /// Spins until `done()`; returns false when the time is over for some thread.
  template <class Done>
  bool wait(Done&& done) {
    for (uint32_t k = 1; !done(); ++k) {
      if (k % kLooks == 0 && now_ns() > end_) is_over_.store(true, std::memory_order_relaxed);
      if (is_over_.load(std::memory_order_relaxed)) return false;
    }
    return true;
  }
  bool is_over() const { return is_over_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kLooks = 64;  // spins between two looks at the clock
  const uint64_t end_;
  alignas(64) std::atomic<bool> is_over_ = false;
};

}  // namespace byoc::machine
