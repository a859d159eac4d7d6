// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a command under ptrace and counts every thread that it starts, and its peak
// of anonymous memory.
#include <cstdint>
#include <string>
#include <vector>

namespace byoc::test {

struct Traced {
  int code = -1;                      // the exit code; -1 when it was killed
  uint64_t threads_started = 0;       // in addition to the first one
  uint64_t peak_anonymous_bytes = 0;  // resident and not backed by a file
  uint64_t peak_resident_bytes = 0;   // pages of files included
  std::string out;                    // stdout and stderr
};

/// Runs a command; `command[0]` is a path. Memory grows at any time, but shrinks in system calls
/// alone, so that a reading at the beginning of each system call includes every peak.
Traced run_traced(const std::vector<std::string>& command);

}  // namespace byoc::test
