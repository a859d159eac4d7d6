// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>

#include "byoc/ir/visit.h"

namespace byoc {

/// Copies the body of the callee in place of node `node` of the old function, which is an Invoke.
void inline_call(Rewriter& rewriter, uint32_t node, const Function& body);
/// Returns `function` with the calls of composites that belong to `owners` (of all composites when
/// it is empty) replaced by their bodies.
Function inline_composites_in(const IRModule& module, const Function& function,
                              const std::vector<std::string>& owners);
/// Removes the composite functions that no function calls.
void drop_uncalled_composites(IRModule& module);

}  // namespace byoc
