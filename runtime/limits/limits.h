// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of this process while it compiles or loads: memory, and time.
#include <time.h>

#include <cstdint>
#include <optional>

namespace byoc {

/// 0: no limit.
struct WorkLimits {
  uint64_t memory_bytes = 0;  // that no file backs, of the whole process (RLIMIT_DATA)
  uint32_t seconds = 0;
};

/// While it lives, allocations above the limit fail, and the process ends when the time is over: it
/// prints the error `time-limit` on stderr, removes its temporary files, and exits with code 1. For
/// commands only, one at a time: limits and the signal SIGRTMAX belong to the whole process.
class LimitScope {
 public:
  explicit LimitScope(const WorkLimits& limits);
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;
  ~LimitScope();

 private:
  uint64_t outer_bytes_ = 0;
  bool has_memory_ = false;
  std::optional<timer_t> timer_;
};

/// Returns the limit of memory that some LimitScope of this process has set; 0: none.
uint64_t limit_of_memory();

}  // namespace byoc
