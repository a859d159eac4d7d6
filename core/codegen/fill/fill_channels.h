// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds channels of zeros where blocks do not divide those of a convolution.
#include "byoc/op/registry.h"
#include "core/codegen/fill/filled_values.h"

namespace byoc {

/// Returns `function`, a function of `module`, with the values of plan_filled filled: filters of
/// zeros are added, and their channels are cut off where others read them. Constants are added to
/// the module. Cost: O(nodes).
Result<Function> fill_channels(IRModule& module, const Function& function,
                               const FillOptions& options, const OpRegistry& ops);

}  // namespace byoc
