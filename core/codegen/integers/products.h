// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions and products of two dequantized operands.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc::integers {

/// The ops that a default codegen requests.
struct Wanted {
  bool convolutions = false;  // conv2d_integers
  bool products = false;      // matmul_integers
  bool sums = false;          // add_integers
};

/// Rewrites the products of a function of the module, which gets the new constants. Errors: those
/// of the matcher.
Result<Function> with_integer_products(IRModule& module, const Function& function,
                                       const OpRegistry& ops, const Wanted& wanted);

}  // namespace byoc::integers
