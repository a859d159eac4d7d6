// SPDX-License-Identifier: Apache-2.0
#pragma once
// Larger weights where they gain most: Winograd's filters and Strassen's sums take up to seven
// times the bytes of the model's weights.
#include "byoc/pass/pass.h"

namespace byoc {

/// Limits the constants of compiled functions to a share of the model's weights, by the option
/// `prefer`: size 1.1, balanced 1.6, speed no limit; gain 1.65, unless that takes longer by more
/// than 1 % of the estimated time of these functions. As long as they are larger, the function that
/// loses the least estimated time per byte saved gets the attribute `compute` with a smaller form:
///   before: fn llvm_main_3(%x, %w) {compiler="llvm"} { ... }
///   after:  fn llvm_main_3(%x, %w) {compiler="llvm", compute="direct"} { ... }
/// Only functions of default codegens whose plugin gives `cost_ns` and `constant_bytes` of their
/// computes have forms, and only those without the attribute. Writes Report::weights. Errors: those
/// of Plugin::knobs; slug "usage" for another option. O(n log n) in the number of functions.
Status fit_weights(IRModule& module, const PassContext& context);

}  // namespace byoc
