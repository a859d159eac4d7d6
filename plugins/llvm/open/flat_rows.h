// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of rows whose number is open along several axes, with all rows on one axis.
#include "byoc/ir/module.h"

namespace byoc::llvm_plugin {

/// Returns the module with [1, .., B*T, K] for the types [.., B, T, K] of its entry where all of
/// its ops treat rows alike: products with a matrix of numbers, norms, arithmetic on elements.
/// Tiles of rows then leave one rest in all, not one per matrix, and memory is the same. Other
/// modules are returned as they are.
IRModule with_flat_rows(const IRModule& module);

}  // namespace byoc::llvm_plugin
