// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solves a PBQP by exact reductions (docs/placement.md, "The solver").
#include "core/placement/solver/problem.h"

namespace byoc::placement {

struct Solution {
  std::vector<uint8_t> state;    // per node
  Cost cost = 0;                 // kForbidden: no choice of states is allowed, or none was found
  Cost bound = 0;                // no choice of states costs less
  uint32_t heuristic_steps = 0;  // nodes whose state a heuristic chose
  uint32_t searched_cores = 0;   // parts that branch and bound solved
  /// Returns true when no choice of states costs less.
  bool is_optimal() const { return cost <= bound; }
};

/// Nodes with at most two neighbours are eliminated without loss (R0, R1, R2). Of what is left,
/// parts of at most kMostSearched nodes are searched; elsewhere the node of the highest degree gets
/// the state that looks best (RN), until nodes can be eliminated again. Deterministic: of equal
/// states the first. No recursion. Cost: O((nodes + edges) k^3) for k states, without the searches.
Solution solve(const Problem& problem);

}  // namespace byoc::placement
