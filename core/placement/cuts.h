// SPDX-License-Identifier: Apache-2.0
#pragma once
// The costs of convexity: where a path between two ops of one plugin passes through another plugin,
// the two ops are in two regions, although the edge between them costs nothing in the problem.
#include "core/placement/place.h"

namespace byoc::placement {

/// Returns the time to move the values that `reader` reads of `producer` from one region to
/// another, ns. Images change their layout `reorders` times.
double move_ns(const Function& function, const Costs& costs, uint32_t producer, uint32_t reader,
               double reorders);

/// Solves placement.problem. Ops that cut a plugin's regions then pay for the values that cross the
/// cuts, and the problem is solved again, a few times; the cheapest choice counts. Its cost
/// includes cuts, and its bound is that of the problem without them, which holds for both.
/// Cost: that of solve() and O(nodes + edges), at most kSolves times.
///   %1 = relu(%0)   onednn        the region of %1 and %4 would have a path through %2 and %3 that
///   %2 = mean(%1)   llvm          leaves it: %1 crosses a border, which %2 and %3 pay for
///   %3 = exp(%2)    llvm
///   %4 = multiply(%1, %3)  onednn
void solve_with_cuts(const Function& function, const Costs& costs, FunctionPlacement& placement);

}  // namespace byoc::placement
