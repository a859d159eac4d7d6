// SPDX-License-Identifier: Apache-2.0
#pragma once
// Estimates the code of a function and how much of it is executed. The estimate decides which
// functions are split, and the effort of LLVM.
#include "byoc/te/stmt.h"
#include "byoc/te/target.h"
#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin::topi {

/// Returns an estimate of the vector instructions of a Dag whose stages all have loops of their
/// own: operations of one element, times the vectors that a small tensor is written out as. Calls
/// of libm count once per lane. Linear.
int64_t code_size_of(const te::Dag& dag, const te::Target& target);
/// Returns an estimate of the scalar operations of one call. INT64_MAX: the loops have extents that
/// are not numbers, or call micro-kernels.
int64_t operations_of(const te::LoopFunction& function);

}  // namespace byoc::llvm_plugin::topi
