// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples of one subject, more of them the better it is, and the duel of two subjects in turns.
#include <functional>
#include <vector>

#include "byoc/base/status.h"
#include "core/measure/clock.h"

namespace byoc::measure {

/// The way in which samples are taken.
struct SamplerOptions {
  /// The time of this thread counts, which another process cannot lengthen. For runs of one thread;
  /// the time of the wall for others.
  bool counts_thread_time = true;
  bool is_cold = false;                ///< caches are emptied before each sample, which is one run
  std::function<void()> beat = [] {};  ///< called between runs, at least every 100 ms of work
  Clock clock;
};

/// One subject under measurement. A sample has 0.4 to 1 ms of runs, or one run when that is longer.
class Sampler {
 public:
  Sampler(std::function<Status()> run, const SamplerOptions& options);
  /// Finds the number of runs of a sample, with a few runs that are not counted.
  Status calibrate();
  /// Takes a sample. Returns ns per run.
  Result<double> sample();
  uint64_t runs_per_sample() const { return runs_; }
  double wall_ns() const { return options_.clock.wall_ns(); }

 private:
  struct Times {
    double wall = 0, thread = 0;  // ns
  };
  Result<Times> time_runs(uint64_t count);
  std::function<Status()> run_;
  SamplerOptions options_;
  uint64_t runs_ = 1;
};

/// Takes 3 samples, then up to 10, then up to 30. After each of the first two steps it stops when
/// their time is clearly worse than `best_ns`, and after `most_ns` of work. With less than a second
/// of work one sample is enough, otherwise there are 3 at least.
Result<std::vector<double>> sample_until_clear(Sampler& sampler, double best_ns,
                                               double most_ns = 1e9);

/// Returns whether caches are emptied before each sample of a kernel: its time is that of reading
/// weights, each used once or twice, which other layers have replaced in the caches by its next
/// run. `bytes` has all operands and results, weights included.
bool is_bound_by_weights(double flops, double bytes, double weight_bytes);

/// The samples of two subjects in the order a b b a, repeated.
struct Duel {
  std::vector<double> a_ns, b_ns;
  double gain = 0;  ///< a's time over b's: ratio_of() the blocks
};
Result<Duel> duel(Sampler& a, Sampler& b);

}  // namespace byoc::measure
