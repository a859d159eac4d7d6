// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of open sizes with code of its own for runs of one row.
#include "plugins/llvm/constants/kernel_loops.h"

namespace byoc::llvm_plugin {

/// Adds the loops of `least`, the same function with numbers for its sizes, for runs in which
/// `holds`: a product of one row reads each weight once, and its sums go over several panels, as a
/// tile of one row has too few of them. Returns `open` as it is where `least` is no product of one
/// row, and where it reads other packed constants. Errors: those of primitives.
Result<KernelLoops> with_one_row(KernelLoops open, const te::Dag& least, size_t inputs,
                                 const te::Expr& holds, const te::Target& target);

}  // namespace byoc::llvm_plugin
