#pragma once
// Every public pass with its promise. All run on every function of the module (or those reachable
// from the entry, where it says so), keep annotations, and change nothing when run a second time.
#include "byoc/pass/bind.h"

namespace byoc {

// ---- simplify: graph clean-up
/// Types of all nodes from those of parameters and constants, callees first.
Result<IRModule> infer_types(IRModule, const PassContext&);
/// Calls of plain functions are replaced by their bodies; functions with `compiler` or `composite`
/// stay. Functions no longer reachable from the entry go.
Result<IRModule> inline_functions(IRModule, const PassContext&);
/// Arguments of calls of functions with `compiler` that are constants
/// move into a copy of the function, one per distinct set of constants.
Result<IRModule> bind_constant_arguments(IRModule, const PassContext&);
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

// ---- partition
/// Matches of two or more ops of the plugins' patterns become calls of composite functions.
Result<IRModule> merge_composites(IRModule, const std::vector<std::string>& plugins,
                                  const PassContext&);
/// Calls of composites are replaced by their ops again: of `plugins`, or of all when empty.
Result<IRModule> inline_composites(IRModule, const std::vector<std::string>& plugins,
                                   const PassContext&);
/// compiler_begin / compiler_end around every op (or composite) a plugin takes, each its own open
/// region. No plugins: only functions that carry the attribute `compiler` are annotated.
Result<IRModule> annotate_target(IRModule, const std::vector<std::string>& plugins,
                                 const PassContext&);
/// Joins open regions into convex ones with an acyclic quotient (partition.md); drops `open`.
Result<IRModule> merge_compiler_regions(IRModule, const PassContext&);
/// Each region, by its number, becomes a function with compiler, global_symbol, primitive.
Result<IRModule> partition_graph(IRModule, const PassContext&);

// ---- codegen
/// What is left outside regions exchanges f32 images in blocks of channels (NCHW8c), in the blocks
/// that the default codegens list and as far as these take the rewritten ops; layout_transform ops
/// stand where two layouts meet. Errors: those of Plugin::layouts.
Result<IRModule> assign_layouts(IRModule, const PassContext&);
/// What is left outside regions is grouped into functions of the default codegens.
Result<IRModule> fuse_ops(IRModule, const PassContext&);
/// Functions with `compiler` of one of `plugins` (all when empty) are compiled; calls become
/// externs.
Result<IRModule> run_codegen(IRModule, const std::vector<std::string>& plugins, const PassContext&);
/// Offsets of intermediate tensors in one arena, as attributes of the entry function.
Result<IRModule> plan_memory(IRModule, const PassContext&);

}  // namespace byoc
