// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc place`: measures candidates, solves, corrects costs by what whole programs show,
// and keeps the fastest of the plans and of the choices without a plan.
#include "core/placement/plan.h"
#include "core/tools/place/contest.h"
#include "core/tools/place/probe.h"

namespace byoc::driver {

struct PlaceRequest {
  BuildOptions build;    // compilers: the plugins to choose from; "auto" or none: all
  std::string folder;    // of costs; prepare_place sets it
  bool measures = true;  // false: estimates alone, without a contest
  uint32_t rounds = 5;   // of solving and correcting
  ProbePlan probes;
  ContestPlan contest;
  std::function<void(std::string_view what, uint64_t done, uint64_t total)>
      progress;  // may be empty
};

/// The agreement of a plugin's estimates with what was measured.
struct RankAgreement {
  size_t candidates = 0;  // distinct, with both
  double rank = 0;        // Spearman's correlation
};

struct PlaceOutcome {
  placement::Plan plan;
  IRModule annotated;  // with the plan, before merge_compiler_regions
  size_t candidates = 0, measured = 0, failed = 0, rounds = 0;  // distinct candidates
  std::vector<Entrant> entrants;
  std::vector<EntrantResult> results;  // per entrant
  size_t best = 0;
  std::map<std::string, RankAgreement> agreement;  // by plugin; of two candidates or more
  std::vector<std::string> remarks;
};

/// Errors: those of compiling; slug "place" when no entrant runs.
Result<PlaceOutcome> place_model(IRModule module, const PlaceRequest& request);

/// Completes `request`: the folder is that of the build's options, and with `measures` the machine is
/// calibrated first unless that was done. Errors: slug "usage" without a folder; those of calibrating.
Status prepare_place(const IRModule& module, PlaceRequest& request);

/// Returns the module as place_by_cost receives it.
Result<IRModule> before_placement(IRModule module, const PassContext& context);

}  // namespace byoc::driver
