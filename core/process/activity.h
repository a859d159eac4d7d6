// SPDX-License-Identifier: Apache-2.0
#pragma once
// The current activity of a child process, in memory that it shares with its parent, so that the
// parent can read it even after the child has crashed.
#include <atomic>
#include <cstdint>
#include <string_view>

namespace byoc::process {

/// The shared page. Only the child writes it.
struct Activity {
  std::atomic<uint64_t> beats, item, done, total;
  char what[400];   // "judge, add f32[2,3] f32[3]"
  char fault[200];  // an illegal access: "it wrote to input 0, which is read-only,"
};

/// Returns the page of this process; in a child it is the one that the parent reads.
Activity& activity();
/// Records the activity that begins now. Each call restarts the time limit.
void doing(std::string_view what);
/// Records the progress of a child; `item` is the number that the child gives to its current work.
void progress_to(uint64_t item, uint64_t done, uint64_t total);

/// Returns a page that is shared with the processes that this one forks; nullptr when mmap fails.
Activity* new_activity();
void delete_activity(Activity* page);
/// Makes `page` the page of this process.
void use_activity(Activity* page);

}  // namespace byoc::process
