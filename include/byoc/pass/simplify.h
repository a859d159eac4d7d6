// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that clean graphs up.
#include "byoc/pass/pass.h"

namespace byoc {

/// Types of all nodes from those of parameters and constants, callees first.
Result<IRModule> infer_types(IRModule, const PassContext&);
/// Calls of plain functions are replaced by their bodies; functions with `compiler` or `composite`
/// stay. Functions no longer reachable from the entry go.
Result<IRModule> inline_functions(IRModule, const PassContext&);
/// Ops whose operands are all constants become constants (results up to 64 MiB), by reference
/// kernels.
Result<IRModule> fold_constants(IRModule, const PassContext&);
/// batch_norm, multiply and add by per-channel constants fold into the weights of the convolution,
/// gemm or matmul before them; what is left is one add.
Result<IRModule> fold_batch_norm(IRModule, const PassContext&);
/// Nodes whose values nobody reads go (parameters and annotations stay), then unreachable
/// functions, then constants of the pool that nothing names.
Result<IRModule> eliminate_dead_code(IRModule, const PassContext&);
/// Nodes that compute the same become one; equal constants too. Not across regions, never
/// annotations.
Result<IRModule> merge_equal_nodes(IRModule, const PassContext&);

}  // namespace byoc
