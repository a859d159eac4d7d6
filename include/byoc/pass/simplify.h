// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that clean graphs up.
#include "byoc/pass/pass.h"

namespace byoc {

/// Infers the types of all nodes from those of parameters and constants, callees first.
Result<IRModule> infer_types(IRModule, const PassContext&);
/// Replaces calls of plain functions by their bodies; functions with `compiler` or `composite`
/// stay. Functions no longer reachable from the entry are removed.
Result<IRModule> inline_functions(IRModule, const PassContext&);
/// Replaces ops whose operands are all constants by constants, by reference kernels. Results of one
/// op have at most 64 MiB; the options fold_mib and fold_mops limit bytes and work of a module.
Result<IRModule> fold_constants(IRModule, const PassContext&);
/// Computes chains of ops on f16 and bf16 in f32, which round at their ends.
Result<IRModule> widen_floats(IRModule, const PassContext&);
/// Rounds the constant matrices of products to 16 bits, by the option `precision`: f32 (none), f16
/// or bf16. They are stored so where a plugin reads them so; arithmetic stays in f32.
Result<IRModule> round_weights(IRModule, const PassContext&);
/// Makes ops that only move elements between a quantize and its dequantize ops on the integers, and
/// gives each reader of a dequantize its own, so that patterns match.
Result<IRModule> prepare_quantized(IRModule, const PassContext&);
/// Does what fold_constants does, also for the weights of products of integers, which that leaves
/// to patterns.
Result<IRModule> fold_weights(IRModule, const PassContext&);
/// Folds batch_norm, multiply and add by per-channel constants into the weights of the convolution,
/// gemm or matmul before them; one add remains.
Result<IRModule> fold_batch_norm(IRModule, const PassContext&);
/// Moves pads with zeros into the convolutions and average pools that read them, and removes pads
/// without cells.
Result<IRModule> merge_pads(IRModule, const PassContext&);
/// Removes nodes whose values have no reader (parameters and annotations stay), then unreachable
/// functions, then constants of the pool that nothing names.
Result<IRModule> eliminate_dead_code(IRModule, const PassContext&);
/// Merges nodes that compute the same, and equal constants. Nodes of different regions are not
/// merged, annotations never.
Result<IRModule> merge_equal_nodes(IRModule, const PassContext&);

}  // namespace byoc
