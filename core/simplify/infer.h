// SPDX-License-Identifier: Apache-2.0
#pragma once
// Type inference on nodes of a function, for the passes that change their types.
#include "core/simplify/functions.h"

namespace byoc::simplify {

/// Returns the result types of a Call, inferred from the current types of its operands.
Result<TypeIds> infer_call(const Function& function, const Node& node, const Call& call);
/// Returns `status` with the place of the node before its own place.
Status place(Status status, Symbol name, const Function& function, uint32_t node);

}  // namespace byoc::simplify
