// SPDX-License-Identifier: Apache-2.0
#pragma once
// Estimates the code of a function and the work of a run. The estimate decides which functions are
// split, the effort of LLVM, and the time that tuning spends on a function.
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

/// Returns the floating-point operations of one run: each arithmetic operation counts one, and each
/// step of a reduction.
double flops_of(const te::Dag& dag);
/// Returns the bytes of inputs and outputs.
double bytes_of(const te::Dag& dag);

}  // namespace byoc::llvm_plugin::topi
