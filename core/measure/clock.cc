// SPDX-License-Identifier: Apache-2.0
#include "core/measure/clock.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <vector>

#include "byoc/base/clock.h"

namespace byoc::measure {
namespace {

/// Returns the bytes that replace the contents of this machine's caches, within bounds: the last
/// cache of a large machine is shared by cores that a run does not use.
size_t eviction_bytes() {
  constexpr long kMost = 32 << 20, kCaches = 4;
  const long l2 = std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 1L << 20);
  return static_cast<size_t>(std::clamp(sysconf(_SC_LEVEL3_CACHE_SIZE), kCaches * l2, kMost));
}

}  // namespace

double real_wall_ns() { return static_cast<double>(now_ns()); }

double real_thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void empty_caches() {
  static std::vector<uint64_t>& lines = *new std::vector<uint64_t>(eviction_bytes() / 8);
  for (size_t k = 0; k < lines.size(); k += 8) ++lines[k];
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

}  // namespace byoc::measure
