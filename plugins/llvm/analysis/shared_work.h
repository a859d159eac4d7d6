// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of a loop function, counted and not timed, and how many workers share it.
#include "byoc/te/stmt.h"
#include "plugins/llvm/analysis/ranges.h"

namespace byoc::llvm_plugin {

/// Counts instructions, about: an operation, load or store of one element or of one vector register
/// is one, functions such as tanh are kFunction, elements on the stack cost nothing to access.
struct WorkUnits {
  static constexpr double kFunction = 20, kDivision = 5;
  static constexpr double kPerCycle = 4;  // of a core that starts four instructions a cycle
  int64_t vector_bytes = 32;              // of a register
  bool shares_all = false;                // each loop, whatever it costs (te::Target)
};

/// Returns the units of one iteration of the loop, with its variable at `begin` + `at`. Conditions
/// that `ranges` do not decide cost as their larger branch.
double units_of_iteration(const te::For& loop, int64_t at, const Ranges& ranges,
                          const WorkUnits& units);

/// The cost of sharing a loop, in cycles: to start it, which took 261 ns on two cores of a Zen 5
/// (byoc_machine.loop_ns), and for each worker to enter and to leave it, which moves one line of a
/// cache there and back: 80 to 150 ns between cores of a Zen 5 with a common cache.
inline constexpr double kSharedLoopCycles = 1000, kSharedLoopWorkerCycles = 300;

/// Returns the least iterations that a worker gets, of `extent` with so many units each: where each
/// gets fewer, more workers cost more than they save. `extent` itself: the loop is not shared.
///   cycles(w) = work / w + kSharedLoopCycles + w * kSharedLoopWorkerCycles, least at
///   w = sqrt(work / kSharedLoopWorkerCycles)
double least_share(double extent, double units_each, const WorkUnits& units);

/// The work of a kernel whose parallel loops `workers` share.
struct SharedWork {
  double units = 0;     // of all workers
  double serial = 0;    // outside of parallel loops, and in those that one worker runs
  double busiest = 0;   // of the worker with the most, summed over the parallel loops
  double barriers = 0;  // parallel loops that several workers run, each time
  double bytes = 0;     // of tensors that this worker accesses in them, each tensor once per loop
};
SharedWork shared_work(const te::LoopFunction& function, uint32_t workers, const WorkUnits& units);
/// Adds a kernel that is called `times` times.
void add(SharedWork& to, const SharedWork& kernel, double times);
/// Returns "units U serial S busiest B barriers N bytes M\n".
std::string print(const SharedWork& work);

/// Blocks that each worker of a parallel loop gets where its iterations are many: no worker waits
/// long for the slowest, which may have lost its core.
inline constexpr uint64_t kBlocksPerWorker = 16;

}  // namespace byoc::llvm_plugin
