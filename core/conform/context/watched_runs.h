// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many runs of one kernel: the memory that each keeps, and its time.
#include <cstdint>
#include <functional>

#include "byoc/base/status.h"

namespace byoc::conform {

struct WatchedRuns {
  uint64_t kept_bytes = 0;  // by each run, for as long as it was watched
  double run_ns = 0;        // the fastest

  /// Returns whether a run takes far longer than the reference kernels, which are simple loops, and
  /// than starting a device does: more than 50 ms and 50 times as long.
  bool is_slow(double reference_ns) const {
    constexpr double kMostNs = 50e6, kMostTimes = 50;
    return run_ns > kMostNs && run_ns > kMostTimes * reference_ns;
  }
};

/// Calls `run` until memory that runs fill once, such as caches, is full, and then to watch it. The
/// process does nothing else meanwhile. Stops at the first error.
WatchedRuns watch_runs(const std::function<Status()>& run);

}  // namespace byoc::conform
