// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice by estimates, which err by some share: one plugin is the base, and the others get what
// they run clearly faster.
#include "core/placement/plan.h"

namespace byoc::placement {

/// Returns the plugins of the list that take some op and of which no time is known: they give no
/// estimates, and nothing of them was measured. In the order of the list.
Result<std::vector<std::string>> without_estimates(IRModule& module,
                                                   const std::vector<std::string>& plugins,
                                                   const Costs& costs, const PassContext& context);

/// Returns the choice for each function, callees first. With `costs.has_base` the plugin that costs
/// least alone is the base of all. The notes get what was proved. `module` is left as it was.
Result<std::vector<FunctionPlacement>> place_functions(IRModule& module,
                                                       const std::vector<std::string>& plugins,
                                                       const Costs& costs,
                                                       const PassContext& context,
                                                       PlaceNotes& notes);

}  // namespace byoc::placement
