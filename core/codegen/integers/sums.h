// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of two dequantized operands.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc::integers {

/// Rewrites quantize(add(dequantize, dequantize)) of operands of one shape, also with relu between,
/// as add_integers. Errors: those of the matcher.
Result<Function> with_integer_sums(IRModule& module, const Function& function,
                                   const OpRegistry& ops);

}  // namespace byoc::integers
