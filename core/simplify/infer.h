// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inference on nodes of a function, for the passes that give them new types.
#include "core/simplify/functions.h"

namespace byoc::simplify {

/// The result types of a Call from those of its operands as they stand now.
Result<TypeIds> infer_call(const Function& function, const Node& node, const Call& call);
/// `status` with the place of the node before its own.
Status place(Status status, Symbol name, const Function& function, uint32_t node);

}  // namespace byoc::simplify
