// SPDX-License-Identifier: Apache-2.0
#pragma once
// The policies of byoc that a library may replace. Each is a function that byoc calls in the place
// of its own, from one thread at a time; an empty one leaves byoc's own.
#include "byoc/extend/placement_problem.h"
#include "byoc/ir/module.h"
#include "byoc/tune/search.h"

namespace byoc::extend {

/// A way to run an op or a match, for the cost model of placement.
struct Candidate {
  std::string_view plugin;   ///< "onednn"
  std::string_view text;     ///< ops, attributes and types, equal for equal work: "conv2d(...)"
  double flops = 0;          ///< of one run
  double bytes = 0;          ///< of operands and results, each once
  double ns = 0;             ///< byoc's own cost: the measured time or an estimate, or infinity
  bool is_measured = false;  ///< `ns` is a measured time
};

/// Replaces parts of byoc's decisions.
struct Hooks {
  /// Returns the cost of a candidate in ns, at least 0; infinity forbids it. For the choice by cost
  /// (`--compiler auto`). The same candidate must get the same cost each time.
  std::function<double(const Candidate&)> placement_cost;
  /// Returns why a plugin that takes the op or match must not get it, "" where it may. `graph` has
  /// the op, or a call of the composite, with its operands as parameters and constants.
  std::function<std::string(std::string_view plugin, const Function& graph)> region_judge;
  /// Returns the state of each node of a problem of placement. States that the problem does not
  /// have are an error, slug "library-fault".
  std::function<std::vector<uint8_t>(const placement::Problem&)> placement_solver;
  tune::CostModel tuner_model;     ///< predicts how fast points are; without `train`: byoc's
  tune::PointSearch tuner_search;  ///< chooses the points that are measured; empty: byoc's search
};

/// Returns the policies of the libraries that were loaded. Thread-safe once these are loaded.
const Hooks& hooks();

}  // namespace byoc::extend
