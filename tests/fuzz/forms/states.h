// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs with states: some results are the next values of parameters.
#include "byoc/runtime/session.h"
#include "case.h"
#include "run.h"

namespace byoc::fuzz {

/// A parameter, as a leaf of the graph, and the result with its next value.
struct StatePair {
  size_t leaf = 0, result = 0;
};
/// Returns up to two parameters, each with the first result of its type that no other one has.
std::vector<StatePair> state_pairs(const Case& graph);
/// Returns the module of the graph with these pairs as states.
Result<IRModule> with_states(const Case& graph, const std::vector<StatePair>& pairs);

/// Runs some steps from the values of the leaves on. After each, the results and the states must be
/// those of the graph for the states that the session had before. A step whose results are not
/// determined ends them.
Result<Outcome> run_steps(const Session& session, const Case& graph,
                          const std::vector<StatePair>& pairs, Sums sums);

}  // namespace byoc::fuzz
