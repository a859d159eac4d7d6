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
  bool has_calls = false;  // of libraries: kMatrixProduct
};

/// Returns the kernels of a function, whose inputs and outputs are those of the Dag. Errors:
/// kUnimplemented, which names a stage that has no kernel.
/// With `by_library`, products of whole matrices are statements of their own, for a library.
Result<GroupFunction> group_loops(const te::Dag& dag, bool by_library = false);

}  // namespace byoc::cuda
