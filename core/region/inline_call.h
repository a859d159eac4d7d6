// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>

#include "byoc/ir/visit.h"

namespace byoc {

/// Instead of copying old node `node`, an Invoke, copies the body of its callee.
void inline_call(Rewriter& rewriter, uint32_t node, const Function& body);
/// `function` with the composites of `owners` (all when empty) dissolved.
Function inline_composites_in(const IRModule& module, const Function& function,
                              const std::vector<std::string>& owners);
/// Composite functions that no function calls any more go.
void drop_uncalled_composites(IRModule& module);

}  // namespace byoc
