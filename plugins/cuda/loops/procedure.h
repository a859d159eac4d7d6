// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages that are written as loops: checks of indices, and other short ones.
#include "plugins/cuda/loops/group.h"

namespace byoc::cuda {

/// Errors: kUnimplemented for a procedure of so many steps that one thread would take long.
Status check_procedure(const te::Stage& stage);
/// Returns the kernel: one thread runs the loops in order.
te::Stmt procedure_kernel(const te::Stage& stage, Groups& groups);

}  // namespace byoc::cuda
