// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that cut the regions of plugins out of functions.
#include "byoc/pass/pass.h"

namespace byoc {

/// Replaces matches of two or more ops of the plugins' patterns by calls of composite functions.
Result<IRModule> merge_composites(IRModule, const std::vector<std::string>& plugins,
                                  const PassContext&);
/// Replaces calls of composites, of `plugins` or of all when empty, by their ops again.
Result<IRModule> inline_composites(IRModule, const std::vector<std::string>& plugins,
                                   const PassContext&);
/// Puts compiler_begin / compiler_end around every op (or composite) that a plugin accepts,
/// each its own open region. No plugins: only functions that carry the attribute `compiler`
/// are annotated.
Result<IRModule> annotate_target(IRModule, const std::vector<std::string>& plugins,
                                 const PassContext&);
/// Does both by cost: of all plugins that take an op or a match, those are chosen whose costs are
/// least together, with the costs of borders (docs/placement.md). Reads the options `place`, `plan`
/// and `costs`. Functions with the attribute `compiler` are left to annotate_target.
Result<IRModule> place_by_cost(IRModule, const std::vector<std::string>& plugins,
                               const PassContext&);
/// Joins open regions into convex ones with an acyclic quotient
/// (docs/partitioning.md); drops `open`.
Result<IRModule> merge_compiler_regions(IRModule, const PassContext&);
/// Turns each region, in order of its number, into a function with compiler,
/// global_symbol, primitive.
Result<IRModule> partition_graph(IRModule, const PassContext&);

}  // namespace byoc
