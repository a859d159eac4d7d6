// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc place`: measures candidates, solves, corrects costs by what whole programs
// show, and keeps the fastest of the plans and of the choices without a plan.
#include <algorithm>

#include "core/measure/store/store_use.h"
#include "core/placement/free_borders.h"
#include "core/placement/plan.h"
#include "core/tools/place/contest.h"
#include "core/tools/probe/probe.h"

namespace byoc::driver {

struct PlaceRequest {
  BuildOptions build;     // compilers: the plugins to choose from; "auto" or none: all
  std::string folder;     // of costs; prepare_place sets it
  bool measures = true;   // false: only estimates, without a contest
  uint32_t rounds = 5;    // of solving and correcting
  double improve_s = 30;  // for moves from the fastest plan; 0: none
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

/// The certificate of a choice by cost, summed over the functions of a module.
struct Certificate {
  uint64_t ops = 0, heuristic_steps = 0;
  double predicted_ns = 0, bound_ns = 0;  // no choice costs less than the bound
  /// Returns how far the choice is from the bound at most: 0 when it is optimal under the costs.
  double gap() const { return bound_ns > 0 ? std::max(0.0, predicted_ns / bound_ns - 1) : 0; }
};

struct PlaceOutcome {
  placement::Plan plan;
  Certificate certificate;  // of the plan; of the last choice by cost when the plan is an order
  placement::FreeBorders free_borders;  // under the costs of each plugin's own program
  double seconds = 0;                   // that placing took

  IRModule annotated;  // with the plan, before merge_compiler_regions
  size_t candidates = 0, measured = 0, failed = 0, rounds = 0;  // distinct candidates
  measure::StoreUse observations;                               // of the candidates
  size_t moves_tried = 0, moves_kept = 0;                       // from the fastest plan
  std::vector<Entrant> entrants;
  std::vector<EntrantResult> results;  // per entrant
  size_t best = 0;
  std::map<std::string, RankAgreement> agreement;  // by plugin; of two candidates or more
  std::vector<std::string> remarks;
};

/// Returns the fastest entrant of a kind, SIZE_MAX when none of them runs.
size_t best_of(const PlaceOutcome& outcome, Entrant::Kind kind);

/// Errors: those of compiling; slug "place" when no entrant runs.
Result<PlaceOutcome> place_model(IRModule module, const PlaceRequest& request);

/// Completes `request`: the folder is that of the build's options; with `measures`, the machine is
/// calibrated first unless that was done. Errors: slug "usage" (no folder); those of calibrating.
Status prepare_place(const IRModule& module, PlaceRequest& request);

/// Returns the module as place_by_cost receives it.
Result<IRModule> before_placement(IRModule module, const PassContext& context);

}  // namespace byoc::driver
