// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds channels of zeros where blocks do not divide those of a convolution.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// Returns `function`, a function of `module`, with convolutions whose number of channels is a
/// multiple of `block`: filters of zeros are added, and cut off after the mean of each plane. Only
/// convolutions with constant filters and more than `block` channels change, whose results are read
/// channel by channel up to such a mean. Constants are added to the module. Cost: O(nodes).
Result<Function> fill_channels(IRModule& module, const Function& function, int64_t block,
                               const OpRegistry& ops);

}  // namespace byoc
