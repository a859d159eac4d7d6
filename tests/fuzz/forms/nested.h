// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs in the bodies of control flow.
#include "case.h"

namespace byoc::fuzz {

/// Returns the graph with two more parameters, which nested_module reads: i64[] with 2, the
/// iterations of a loop, and bool[] with true, the condition.
Case with_switches(Case graph);

/// Returns a module that runs some steps, one after the other in the graph, in a body: of `if`,
/// whose branches are equal; of a loop that carries their results; or of a loop that stacks them,
/// which always runs twice. Its inputs and results are those of `graph`, which is of with_switches.
/// The steps and the kind follow from the ops of the graph.
IRModule nested_module(const Case& graph);

}  // namespace byoc::fuzz
