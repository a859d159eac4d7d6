// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lower bound on the cost of every solution, by moving costs between edges and nodes.
#include "core/placement/solver/problem.h"

namespace byoc::placement {

/// A problem with the same cost for every choice of states, in which costs were moved from edges to
/// nodes. Edges keep their order; none of them share entries.
struct Moved {
  Problem problem;
  Cost bound = 0;  // the sum of the least costs of all nodes and of all edges
};

/// Passes messages forward and backward along the numbers of the nodes (sequential tree-reweighted
/// message passing, Kolmogorov 2006, section 3), `sweeps` times, and keeps the best bound. Every
/// bound is valid, whatever the messages. Cost: O(sweeps * entries).
Moved move_costs(const Problem& problem, uint32_t sweeps);
/// Returns the bound alone, in half the memory.
Cost lower_bound(const Problem& problem, uint32_t sweeps);

}  // namespace byoc::placement
