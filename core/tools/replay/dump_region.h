#pragma once
// From a region of a partitioned model, or a piece of one, to what is stored of it.
#include "core/tools/replay/region_values.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {

/// Function `name` of `module` as the plugin it carries is given it, without tensors. Options and
/// version of the plugin are those of the context's plugins.
Result<ReplayCase> replay_case(const IRModule& module, Symbol name, const PassContext& context,
                               const std::string& reference);
/// A whole region with its tensors.
Result<ReplayCase> replay_case(const RegionValues& values, const RegionBorder& region,
                               const std::string& reference);
/// Names the tensors after the function's parameters, and results output0, output1, ...
void set_tensors(ReplayCase& to, const Function& function, std::vector<Tensor> inputs,
                 std::vector<Tensor> outputs);

}  // namespace byoc::driver
