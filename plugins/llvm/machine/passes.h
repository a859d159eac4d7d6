// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes of LLVM for kernels, whose vectors and tiles are written already.
#include "llvm/IR/PassManager.h"
#include "plugins/llvm/machine/machine.h"

namespace byoc::llvm_plugin {

/// Returns the passes of an effort below kAll. For loops without branches, those of kMost give code
/// as fast as LLVM's own order for -O2, in a third of its time: that simplifies instructions eight
/// times, mostly after passes that change nothing in such loops.
llvm::ModulePassManager passes_of(Effort effort);

}  // namespace byoc::llvm_plugin
