// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pass for ops of libraries.
#include "byoc/pass/pass.h"

namespace byoc {

/// Makes each call of an op of a library (byoc/op/added.h) that is in no region a call of loops, by
/// the op's tensor expression, for a plugin that compiles loops. Ops without an expression stay.
Result<IRModule> make_added_loops(IRModule, const PassContext&);

}  // namespace byoc
