// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of the tensors of a function of kernels.
#include "plugins/cuda/plan/plan.h"
#include "plugins/llvm/analysis/memory_plan.h"

namespace byoc::cuda {

/// Plans the values between kernels in the workspace; memory inside of kernels is the group's or
/// the thread's, and the first index of registers counts for nothing. Errors: kUnimplemented for a
/// kernel whose memory is too large.
Result<llvm_plugin::MemoryPlan> plan_of(const GroupFunction& function);

/// Returns the loops with conditional loads that are emitted as branches: `c ? x[i] : 0` would
/// otherwise become a load from one of two addresses, whose kind of memory is unknown.
te::LoopFunction prepared_loads(const te::LoopFunction& function);

}  // namespace byoc::cuda
