// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a failing graph smaller while it fails in the same way.
#include "run.h"

namespace byoc::fuzz {

struct Reduced {
  Case graph;
  Outcome outcome;
  size_t tries = 0;
};

/// Leaves out results and ops, turns operands into parameters with the right values, makes extents
/// smaller and values simpler. Every try runs in a process of its own; at most `most_tries`. Stops
/// early on Ctrl-C.
Reduced reduce(const Case& graph, const Configuration& configuration, const Outcome& outcome,
               size_t most_tries, uint32_t timeout_s);

}  // namespace byoc::fuzz
