// SPDX-License-Identifier: Apache-2.0
#pragma once
// Corrects the costs of candidates by the times of the regions that they are in.
#include "core/placement/place.h"

namespace byoc::driver {

/// Changes costs.corrections so that the predicted times of all regions are the measured ones: each
/// candidate gets the mean factor of the regions with it. `placed` is the module before the choice,
/// `step_ns` has the time of each step of the whole program by symbol.
Status correct_costs(const IRModule& placed,
                     const std::vector<placement::FunctionPlacement>& placements,
                     const std::map<std::string, double>& step_ns, const PassContext& context,
                     placement::Costs& costs);

}  // namespace byoc::driver
