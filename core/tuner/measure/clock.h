// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock of the tuner: samples of a kernel, more of them the better it is, and the duel of two
// kernels in turns.
#include <functional>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::tune {

/// Returns the ns of the steady clock.
double real_wall_ns();
/// Returns the ns that this thread has run.
double real_thread_ns();

/// The way in which samples are taken.
struct ClockOptions {
  /// The time of this thread counts, which another process cannot lengthen. For kernels of one
  /// thread; the time of the wall for others.
  bool counts_thread_time = true;
  bool is_cold = false;                ///< caches are emptied before each sample, which is one run
  std::function<void()> beat = [] {};  ///< called between runs, at least every 100 ms of work
  std::function<double()> wall_ns = real_wall_ns, thread_ns = real_thread_ns;  ///< the clocks
};

/// One kernel under measurement. A sample has 0.4 to 1 ms of runs, or one run when that is longer.
class KernelClock {
 public:
  KernelClock(std::function<Status()> run, const ClockOptions& options);
  /// Finds the number of runs of a sample, with a few runs that are not counted.
  Status calibrate();
  /// Takes a sample. Returns ns per run.
  Result<double> sample();
  uint64_t runs_per_sample() const { return runs_; }
  double wall_ns() const { return options_.wall_ns(); }

 private:
  struct Times {
    double wall = 0, thread = 0;  // ns
  };
  Result<Times> time_runs(uint64_t count);
  std::function<Status()> run_;
  ClockOptions options_;
  uint64_t runs_ = 1;
};

/// Takes 3 samples, then up to 10, then up to 30. After each of the first two steps it stops when
/// the smallest sample is clearly worse than `best_ns`, and after about a second of work.
Result<std::vector<double>> sample_until_clear(KernelClock& clock, double best_ns);

/// The samples of two kernels in the order a b b a, repeated.
struct Duel {
  std::vector<double> a_ns, b_ns;
  double gain = 0;  ///< median over the repetitions of the time of a by that of b
};
Result<Duel> duel(KernelClock& a, KernelClock& b);

/// Returns the ns of a pass of a loop of multiplications and additions over memory of the first
/// cache: the smallest of several. It changes when the machine has become slower or faster.
double reference_loop_ns();

}  // namespace byoc::tune
