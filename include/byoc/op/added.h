// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops from outside of this tree, in the table of all ops.
#include "byoc/op/registry.h"

namespace byoc {

/// Adds an op to all_ops(). It has a name of a-z, 0-9 and `_`, type inference, and a reference
/// kernel; with `compute` it becomes loops, which a default codegen compiles. Call it
/// before models are read and before other threads use the table. Errors: kInvalidArgument,
/// kAlreadyExists.
Result<const OpDef*> add_op(OpDef op);
/// Returns why `op` cannot be added; ok when it can.
Status check_added_op(const OpDef& op);
/// Returns true for ops that were added.
bool is_added(const OpDef& op);

}  // namespace byoc
