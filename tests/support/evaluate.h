// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs modules node by node with the reference kernels, to compare modules in tests of passes.
#include "byoc/ir/module.h"
#include "run_op.h"

namespace byoc::testing {

/// Returns the results of the entry. Annotations pass values on; calls of functions are followed;
/// an extern is an error (kUnimplemented), because only its plugin can compute it.
Result<std::vector<Values>> evaluate(const IRModule& module, const std::vector<Values>& inputs);
/// Returns a tensor of `type` that depends on `seed` alone: floats in [-1, 1), integers in
/// [0, 8), bools.
Values random_values(const TensorType& type, uint64_t seed);
/// Returns one tensor per parameter of the entry.
std::vector<Values> random_inputs(const IRModule& module, uint64_t seed);
/// Expects both modules to give results within `relative` of the largest on the same random inputs.
void expect_same_results(const IRModule& a, const IRModule& b, double relative, uint64_t seed = 1);

}  // namespace byoc::testing
