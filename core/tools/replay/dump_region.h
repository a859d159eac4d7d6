// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a ReplayCase from a region of a partitioned model, or from some nodes of one.
#include "core/tools/replay/region_limits.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {

/// Makes a case of the function `name` of `module` as its plugin receives it, without tensors. The
/// options and version of the plugin are those in the context.
Result<ReplayCase> replay_case(const IRModule& module, Symbol name, const PassContext& context,
                               const std::string& reference);
/// Makes a case of a whole region with its tensors and the limits of its outputs.
Result<ReplayCase> replay_case(const RegionValues& values, const RegionCall& region,
                               const RegionLimits& limits);
/// Names the tensors after the function's parameters, and results output0, output1, ...
void set_tensors(ReplayCase& to, const Function& function, std::vector<Tensor> inputs,
                 std::vector<Tensor> outputs);
/// Keeps the numbers of the open sizes that the function has, expressions of them included.
void set_sizes(ReplayCase& to, const Function& function,
               const std::map<std::string, int64_t>& numbers);

}  // namespace byoc::driver
