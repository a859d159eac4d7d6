// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work in child processes: with a time limit, with its result and what it prints read through
// pipes, so that a crash, a hang or an exit is a result and not the end of this process.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/activity.h"
#include "core/process/end.h"

namespace byoc::process {

struct ChildLimits {
  /// Seconds without a call of `doing`. Time in which the parent does not run either, as when a
  /// machine sleeps or a shell has stopped both, does not count.
  uint32_t timeout_s = 10;
  bool captures_output = true;  // false: what children print goes where this process prints
  /// Called some 20 times per second with what the child records in its Activity.
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> progress = {};
};

struct ChildResult {
  bool finished = false;  // the work returned
  std::string result;     // lines sent, then what the work returned, when it did
  End end;
  std::string defect;   // empty when finished; "crashed (Segmentation fault) while ..."
  std::string printed;  // on stdout and stderr, the first 4 KiB
  uint64_t item = 0;    // the last of progress_to
  std::string what, fault;
};

/// Forks, runs `work` in the child, and gives what it returned. To be called from a process without
/// threads: a forked child has only the calling one.
ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& work);
/// The same for work(0), work(1), ..., work(count - 1), each in a child of its own, at most `jobs`
/// at a time. Results are in this order.
std::vector<ChildResult> run_in_children(const ChildLimits& limits, size_t count, uint32_t jobs,
                                         const std::function<std::string(size_t)>& work);

/// For children: sends a line of the result at once, so that it arrives even when the child ends
/// before the work returns.
void send_line(std::string_view line);

/// True when SIGINT or SIGTERM has arrived since catch_interrupts; children are ended then.
bool interrupted();
void catch_interrupts();

}  // namespace byoc::process
