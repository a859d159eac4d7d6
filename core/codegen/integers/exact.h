// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products in i32 of integers that were bytes.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc::integers {

/// Rewrites matmul(x - zero, w) in i32 of bytes x, a zero point that each run may compute, and
/// constant weights that fit in i8, as matmul_integers and sums of columns. All sums are exact
/// modulo 2^32, as before. Linear.
Function with_exact_products(IRModule& module, const Function& function, const OpRegistry& ops);

}  // namespace byoc::integers
