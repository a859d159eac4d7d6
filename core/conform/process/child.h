#pragma once
// Work in a process of its own. What the child is doing stands in memory that both processes share,
// so that the parent can tell what was going on when the child came to an end.
#include <atomic>
#include <functional>
#include <string>

namespace byoc::conform {

/// Shared by the two processes; written by the child alone.
struct Activity {
  std::atomic<uint64_t> beats, item, done, total;
  char what[400];   // "judge, add f32[2,3] f32[3]"
  char fault[200];  // an illegal access that has a name: "it wrote to input 0, which is read-only"
};
/// Inside a child: what it does now. Each call gives it the full time limit again.
void doing(std::string_view what);
/// Inside a child: how far it is, in items of its own counting.
void progress_to(uint64_t item, uint64_t done, uint64_t total);
/// Inside a child: a line of the result now, so that it is there even if the child ends before the
/// rest.
void tell(std::string_view line);
/// The page of this process and its children.
Activity& activity();

struct ChildResult {
  bool finished = false;
  std::string result;   // lines told, then what the work returned, when it did
  std::string defect;   // "crashed (Segmentation fault) while ...", "hung for 10 s while ..."
  std::string printed;  // on stdout and stderr, the first 4 KiB
  uint64_t item = 0;    // the last one that was told
  std::string what, fault;
};

struct ChildLimits {
  uint32_t timeout_s = 10;  // without a sign of life from `doing`, while the parent runs
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> progress;
};

/// Forks, runs `work` there, and gives what it returned. Only from a process without threads.
ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& work);
/// Ctrl-C was pressed since the handler was installed; children are gone then.
bool interrupted();
void catch_interrupts();

}  // namespace byoc::conform
