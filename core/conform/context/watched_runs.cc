// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/watched_runs.h"

#include <algorithm>
#include <limits>

#include "byoc/base/clock.h"
#include "core/conform/process/process_state.h"

namespace byoc::conform {
namespace {

// A leak is growth in each of the two halves, by at least this much a run, and by more than the
// allocator's caches of free memory vary.
constexpr uint64_t kLeastBytes = 16, kVariation = 4096;

/// Returns by how much memory grew per run; 0 for less than a leak. The heap has exact numbers, and
/// maps more memory in steps that have nothing to do with the size of a leak.
uint64_t growth(const HeldMemory& before, const HeldMemory& after, uint64_t runs) {
  const auto per_run = [&](uint64_t from, uint64_t to) {
    const uint64_t grew = to > from ? to - from : 0;
    return grew < std::max(runs * kLeastBytes, kVariation) ? 0 : grew / runs;
  };
  const uint64_t heap = per_run(before.heap_bytes, after.heap_bytes);
  return heap > 0 ? heap : per_run(before.mapped_bytes, after.mapped_bytes);
}

}  // namespace

WatchedRuns watch_runs(const std::function<Status()>& run) {
  constexpr double kHalfNs = 5e6;  // the time of half of the runs, unless two take longer
  WatchedRuns out{.run_ns = std::numeric_limits<double>::infinity()};
  bool is_good = true;
  const auto run_times = [&](uint64_t n) {
    for (uint64_t k = 0; k < n && is_good; ++k) {
      const uint64_t begin = now_ns();
      is_good = run().ok();
      out.run_ns = std::min(out.run_ns, static_cast<double>(now_ns() - begin));
    }
  };
  run_times(2);
  const auto runs = static_cast<uint64_t>(std::clamp(kHalfNs / out.run_ns, 2.0, 256.0));
  run_times(runs);
  const HeldMemory first = held_memory();
  run_times(runs);
  const HeldMemory second = held_memory();
  run_times(runs);
  const HeldMemory third = held_memory();
  if (!is_good) return {};
  out.kept_bytes = std::min(growth(first, second, runs), growth(second, third, runs));
  return out;
}

}  // namespace byoc::conform
