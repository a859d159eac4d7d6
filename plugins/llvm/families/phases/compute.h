// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plugins/llvm/families/phases/plan.h"

namespace byoc::llvm_plugin::phases {

/// Returns the compute, with these stages:
///   panels[g, a, t, c, m, i]  per class, of the weights only: row i of tile t of panel a, tap m
///   y                         loops: parts of the image are copied with zeros around them,
///                             multiplied with the panels, and the sums moved to their places
/// The terms of a sum are added in the order of the direct sum.
ComputeFn compute_of(const Geometry& geometry, const Plan& plan);

}  // namespace byoc::llvm_plugin::phases
