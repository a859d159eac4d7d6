// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of control flow: what bodies receive and return, and what `if` and `loop` return.
#include "byoc/ir/module.h"

namespace byoc {

/// Returns the types that the bodies of `node`, a Control of `function`, receive: those of the
/// operands after the conditions; before them, in a loop, i64[] for the number of the iteration.
std::vector<TypeId> body_params(const Function& function, const Node& node);
/// Returns the result types of `node`, a Control of `function`. `bodies` are the signatures of its
/// functions, one for a loop and two for `if`. The first dims of a loop's stacked results are those
/// that the node has. Errors: slug "control-types", with what does not fit.
Result<TypeIds> control_types(const Function& function, const Node& node,
                              std::span<const FunctionSignature> bodies);
/// Returns the same, with the functions of the module.
Result<TypeIds> control_types(const IRModule& module, const Function& function, const Node& node);

}  // namespace byoc
