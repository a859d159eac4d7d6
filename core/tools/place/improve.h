// SPDX-License-Identifier: Apache-2.0
#pragma once
// Improves a plan by the times of whole programs, which costs of single ops predict badly.
#include "core/placement/plan.h"
#include "core/tools/place/contest.h"

namespace byoc::driver {

/// The plan that is improved, and what is needed to build and time plans.
struct ImproveRequest {
  const IRModule& given;      // the module that plans are for
  IRModule& placed;           // the same, before placement; left as it was
  const BuildOptions& build;  // compilers: those of all plans
  const placement::Costs& costs;
  const PassContext& context;
  std::string folder;   // for files
  ContestPlan contest;  // of all moves; min_time_s and rounds are set per move
  double seconds = 0;   // no contest begins later
  std::function<void(uint64_t done, uint64_t total)> progress;  // in seconds
};

struct Improvement {
  placement::Plan plan;
  size_t tried = 0, kept = 0;  // moves
  double ratio = 1;            // of the times, after to before
};

/// Tries moves (core/tools/place/moves.h) from `plan`, the most hopeful first, in contests of
/// several with the best plan so far. Those that are faster beyond noise, and once more in a second
/// contest, are kept, together if that is faster still. Ends when no move is left or the seconds
/// are over. An order of priority is first written as choices. Errors: those of building `plan`;
/// slug "place".
Result<Improvement> improve_plan(placement::Plan plan, const ImproveRequest& request);

}  // namespace byoc::driver
