// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that cut the regions of plugins out of functions.
#include "byoc/pass/pass.h"

namespace byoc {

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

}  // namespace byoc
