// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of open sizes with code of its own for runs of the least sizes.
#include "plugins/llvm/constants/kernel_loops.h"

namespace byoc::llvm_plugin {

/// Returns true for a product of one row. It reads each weight once, and its sums go over several
/// panels, as a tile of one row has too few of them.
bool has_one_row(const te::Dag& dag, size_t inputs, const te::Target& target);

/// Adds the loops of `least`, the same function with numbers for its sizes, for runs in which
/// `holds`. Returns `open` as it is where `least` reads other packed constants. Errors: those of
/// primitives.
Result<KernelLoops> with_least_sizes(KernelLoops open, const te::Dag& least, size_t inputs,
                                     const te::Expr& holds, const te::Target& target);

}  // namespace byoc::llvm_plugin
