// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures which plugin runs each op fastest, and keeps the choice as a plan, which
// `--compiler auto` uses.
#include "byoc/model.h"

namespace byoc {

struct PlaceOptions {
  uint32_t rounds = 5;      ///< of solving and correcting
  double improve_s = 30;    ///< seconds of moving ops from the fastest plan
  double min_time_s = 1;    ///< seconds of measured runs of each whole program
  uint32_t timeout_s = 60;  ///< of measuring ops without progress; 1 to 86,400
  bool measures = true;     ///< false: the plan follows from estimates
  bool checks = true;       ///< candidates are compared with the reference plugin
  std::string plan_file;    ///< a copy of the plan goes there; "": none
  std::string module_file;  ///< the annotated module goes there, .ir; "": none
};

/// A whole program that was timed: a plan, one plugin alone, or the order of priority.
struct PlacedProgram {
  std::string name;
  double ns = 0;      ///< of a run
  std::string error;  ///< the reason why it does not run; "": it does
  bool is_best = false;
};

struct ModelPlacement {
  std::string plan;                     ///< the file of the plan
  std::string origin;                   ///< where the plan comes from: a round, a plugin alone, ...
  std::vector<PlacedProgram> programs;  ///< empty when nothing was measured
  size_t candidates = 0, measured = 0;  ///< distinct; those that were measured now
  std::vector<std::string> remarks;     ///< what was out of the ordinary
  std::string json;                     ///< what `byoc place --json` prints
};

/// Measures in child processes, for about a minute per hundred candidates. One call per process
/// at a time. Errors: slug "usage", "place"; those of load_model, build_options, compiling.
Result<ModelPlacement> place_model(const ModelRequest& request, const PlaceOptions& options);

}  // namespace byoc
