// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a child process is doing, in memory that it shares with its parent, so that the parent can
// read it however the child ends.
#include <atomic>
#include <cstdint>
#include <string_view>

namespace byoc::process {

/// Written by the child alone.
struct Activity {
  std::atomic<uint64_t> beats, item, done, total;
  char what[400];   // "judge, add f32[2,3] f32[3]"
  char fault[200];  // an illegal access that has a name: "it wrote to input 0, which is read-only"
};

/// The page of this process; of a child, the one that its parent reads.
Activity& activity();
/// Records what a child does from now on. Each call gives it the full time limit again.
void doing(std::string_view what);
/// Records how far a child is, in items of its own counting.
void progress_to(uint64_t item, uint64_t done, uint64_t total);

/// A page that is shared with the processes that this one forks; nullptr when mmap fails.
Activity* new_activity();
void delete_activity(Activity* page);
/// Makes `page` the one of this process.
void use_activity(Activity* page);

}  // namespace byoc::process
