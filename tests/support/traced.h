// SPDX-License-Identifier: Apache-2.0
#pragma once
// A command under ptrace: every thread that it starts, and the most anonymous memory it ever holds.
#include <cstdint>
#include <string>
#include <vector>

namespace byoc::test {

struct Traced {
  int code = -1;                      // of the exit; -1 when it was killed
  uint64_t threads_started = 0;       // beside the first one
  uint64_t peak_anonymous_bytes = 0;  // resident and not backed by a file
  std::string out;                    // stdout and stderr
};

/// `command[0]` is a path. Memory grows at any time, but shrinks in system calls alone, so that
/// looking at the beginning of those sees every peak.
Traced run_traced(const std::vector<std::string>& command);

}  // namespace byoc::test
