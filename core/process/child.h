// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs work in child processes with a time limit, and reads its result and its output through
// pipes, so that a crash, a hang or an exit is a result and not the end of this process.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/activity.h"
#include "core/process/end.h"

namespace byoc::process {

struct ChildLimits {
  /// Seconds without a call of `doing`. Time in which the parent does not run either, because the
  /// machine sleeps or a shell has stopped both, does not count.
  uint32_t timeout_s = 10;
  /// Limits of activities whose text begins so, in place of timeout_s: {"compile, ", 60}.
  std::vector<std::pair<std::string, uint32_t>> timeouts_s = {};
  bool captures_output = true;  // false: children print to the stdout and stderr of this process
  /// Called about 20 times per second with the contents of the child's Activity.
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> progress = {};

  uint32_t timeout_of(std::string_view what) const;
};

struct ChildResult {
  bool finished = false;  // the work returned
  std::string result;     // the lines sent, then the return value of the work
  End end;
  std::string defect;    // empty when finished; "crashed (Segmentation fault) while ..."
  std::string printed;   // the first 4 KiB of stdout and stderr
  uint32_t limit_s = 0;  // of the activity at the end
  uint64_t item = 0;     // of the last call of progress_to
  std::string what, fault;
};

/// Forks, runs `work` in the child, and returns its result. The process must not have other
/// threads, because a forked child has only the calling one.
ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& work);
/// Runs work(0), work(1), ..., work(count - 1), each in a child of its own, at most `jobs` at a
/// time. Returns the results in this order.
std::vector<ChildResult> run_in_children(const ChildLimits& limits, size_t count, uint32_t jobs,
                                         const std::function<std::string(size_t)>& work);

/// Sends a line of the result at once, so that it arrives even when the child ends before the work
/// returns. Call it in a child.
void send_line(std::string_view line);

/// Returns true when SIGINT or SIGTERM has arrived since catch_interrupts; children are then ended.
bool interrupted();
void catch_interrupts();

}  // namespace byoc::process
