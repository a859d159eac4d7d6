// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of programs with open sizes, at the sizes of one run.
#include <map>
#include <span>

#include "byoc/runtime/artifact.h"

namespace byoc {

/// Sizes by name.
using SizesByName = std::map<std::string, int64_t>;

/// Notes the sizes that are dims of the type by themselves, where `sizes` has none of that name.
/// Returns false when one is there with another number, and for dims of another rank.
bool note_sizes(const TensorSpec& type, std::span<const int64_t> dims, SizesByName& sizes);

/// Returns the inputs with numbers for their open dims: those of `sizes`, or the upper bounds.
/// Errors: those of SizeExpression.
Result<std::vector<NamedTensor>> inputs_at(const std::vector<NamedTensor>& inputs,
                                           SizesByName sizes);

}  // namespace byoc
