// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the kernels of a function: which stages are inlined, which end a reduction, and the loops
// of the others.
#include "plugins/cuda/loops/group.h"

namespace byoc::cuda {

/// A function as kernels: at the top of its loops are allocations of values between kernels, and
/// loops over groups, each of which is a kernel.
struct GroupFunction {
  te::LoopFunction loops;
  Roles roles;
};

/// Returns the kernels of a function, whose inputs and outputs are those of the Dag. Errors:
/// kUnimplemented, which names a stage that has no kernel.
Result<GroupFunction> group_loops(const te::Dag& dag);

}  // namespace byoc::cuda
