// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses who runs each op of a function, by cost, and writes the choice into the module.
#include "core/placement/candidates.h"
#include "core/placement/solver/solve.h"

namespace byoc::placement {

/// The choice for one function.
struct FunctionPlacement {
  Symbol function;
  Candidates candidates;
  std::vector<uint32_t> node_of_state;  // node of the function per op of the problem
  std::vector<uint32_t> problem_of;     // the opposite; kNone
  Problem problem;                      // of the ops, then of `copies`
  std::vector<CopyNode> copies;         // values that the host and devices may use
  Solution solution;
  std::vector<uint32_t> chosen;  // per node of the function: candidate, or kNone
};

/// Returns the copies between the host and devices that a run of the function makes.
std::vector<CopiedValue> copies_of(const FunctionPlacement& placement,
                                   std::span<const uint8_t> state);

/// Appends the states of `placement.copies` that cost least with these states of the ops.
void add_copy_states(const FunctionPlacement& placement, std::vector<uint8_t>& state);

/// Solves for one function: nodes cost what their candidates cost, and an edge between two ops of
/// different plugins costs a call and the move of the value (docs/placement.md, "Costs"). A value
/// that crosses the border to a device is copied once. Errors:
/// slug "placement-rule" when rules leave an op without a plugin.
Result<FunctionPlacement> place_function(IRModule& module, Symbol name,
                                         const std::vector<std::string>& plugins,
                                         const Costs& costs, const PassContext& context);

/// The same for candidates that were found before, as `find_candidates` or `place_function`
/// returned them for this function.
Result<FunctionPlacement> place_candidates(const IRModule& module, Symbol name,
                                           Candidates candidates, const Costs& costs);

/// Returns the functions whose ops are placed, callees first: those that the entry reaches, except
/// composites, functions of plugins, and those with the attribute `compiler`.
Result<std::vector<Symbol>> placed_functions(const IRModule& module);

/// Forms the chosen matches and puts an open region around each op of a plugin. Ops of the default
/// codegen stay as they are.
Result<Function> apply_placement(IRModule& module, const FunctionPlacement& placement,
                                 const PassContext& context);

/// A cost of the solver in ns, infinity when forbidden; and back.
double to_ns(Cost cost);
Cost to_cost(double ns);

/// The cost of another choice for one op.
struct Alternative {
  uint32_t candidate = 0;
  double total_ns = 0;   // of the whole function, with all other ops chosen anew
  double border_ns = 0;  // of the borders of the op then, with the copies of its values
};
/// Returns, for each candidate of the op, the least cost of the function with that candidate.
std::vector<Alternative> alternatives(const FunctionPlacement& placement, uint32_t node);
/// Returns the cost of the borders between this op and its neighbours, and of the copies of what it
/// reads and makes, ns.
double border_ns(const FunctionPlacement& placement, uint32_t node);

}  // namespace byoc::placement
