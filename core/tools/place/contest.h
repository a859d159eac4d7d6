// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times whole programs, in turns, in a child process.
#include <map>

#include "byoc/compile.h"

namespace byoc::driver {

/// A way to compile the model.
struct Entrant {
  enum Kind { kSingle, kOrder, kPlan };  // one plugin and the default codegen; several by priority
  std::string name;                      // for people
  std::vector<std::string> compilers;    // as --compiler; {"auto"} with a plan
  std::string plan_path;                 // a plan file, or ""
  Kind kind = kPlan;
};
std::string_view kind_name(Entrant::Kind kind);

struct EntrantResult {
  double ns = 0;      // of a run, by measure::time_of
  std::string error;  // it does not compile or run, or its outputs differ from the first one's
  std::map<std::string, double>
      step_ns;                   // likewise, per step, by symbol; symbols of equal steps add up
  std::vector<double> block_ns;  // of two turns each (core/measure/statistic.h)
};

/// Returns whether an entrant is faster than one of the same contest by half a percent at least,
/// and beyond what the spread of their turns explains. With less than two blocks of turns the half
/// percent alone counts.
bool is_faster(const EntrantResult& one, const EntrantResult& than);

/// Returns the entrant to keep, SIZE_MAX when none runs: the fastest plugin alone, unless an order
/// or a plan is faster by one percent at least, beyond what the spread of their turns explains. The
/// fastest of many plans is partly the luckiest one, so half a percent is no proof of a gain.
size_t winner_of(const std::vector<Entrant>& entrants, const std::vector<EntrantResult>& results);

struct ContestPlan {
  double min_time_s = 1;  // of each entrant
  uint32_t rounds = 6;
  uint32_t timeout_s = 300;  // without progress
  bool times_steps = true;
  std::vector<std::string> inputs;  // NAME=VALUE, as --input of byoc run; others are random
};

/// Compiles all entrants, compares the outputs of each with the outputs of the first that runs, and
/// times them in turns. One that crashes or hangs has that as its error. Errors: slug "place", when
/// children end although each entrant runs alone.
Result<std::vector<EntrantResult>> run_contest(const IRModule& module, const BuildOptions& build,
                                               const std::vector<Entrant>& entrants,
                                               const ContestPlan& plan);

}  // namespace byoc::driver
