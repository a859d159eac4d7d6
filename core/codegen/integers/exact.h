// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products and convolutions in i32 of integers that were bytes.
#include "core/codegen/integers/products.h"

namespace byoc::integers {

/// Rewrites matmul(x - zero, w) and conv2d(x - zero, w) in i32 of bytes x, a zero point that each
/// run may compute, and constant weights in a range of 256 integers, as matmul_integers and
/// conv2d_integers and sums of weights. All sums are exact modulo 2^32, as before. The rows of a
/// matmul with weights may be open. Linear.
Function with_exact_products(IRModule& module, const Function& function, const OpRegistry& ops,
                             const Wanted& wanted);

}  // namespace byoc::integers
