// SPDX-License-Identifier: Apache-2.0
#pragma once
// A version of the loops for squares. Kernels get exponents as constants whose values they read in
// each run, and a choice of the form in each element takes longer than to multiply.
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// Returns the loops, and where they compute powers by one element of an input, a version of all of
/// them that multiplies, for the exponent 2:
///   before: for i: y[i] = pow(x[i], e[])
///   after:  if (e[] == 2) for i: y[i] = pow(x[i], 2) else for i: y[i] = pow(x[i], e[])
/// Of several exponents, the first one has the version. Linear.
te::LoopFunction with_squares(te::LoopFunction function);

}  // namespace byoc::llvm_plugin
