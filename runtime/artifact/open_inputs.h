// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of programs with open sizes, at the sizes of one run.
#include <map>
#include <span>

#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

/// Returns the inputs with numbers for their open dims: those of `given`, one per input, null where
/// none is given; the upper bounds of sizes that none of them has.
Result<std::vector<NamedTensor>> inputs_at(const std::vector<NamedTensor>& inputs,
                                           std::span<const Tensor* const> given);

}  // namespace byoc
