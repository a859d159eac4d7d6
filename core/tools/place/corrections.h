// SPDX-License-Identifier: Apache-2.0
#pragma once
// Corrects the costs of candidates by the times of the regions that they are in.
#include "core/placement/place.h"

namespace byoc::driver {

/// Sets costs.factors of plugins that have none, and changes costs.corrections so that the
/// predicted times of all regions are the measured ones: each candidate gets the mean factor of the
/// regions with it. `placed` is the module before the choice, `step_ns` has the time of each step
/// of the whole program by symbol.
Status correct_costs(const IRModule& placed,
                     const std::vector<placement::FunctionPlacement>& placements,
                     const std::map<std::string, double>& step_ns, const PassContext& context,
                     placement::Costs& costs);

/// Changes costs.border_factor so that what the whole program took beyond the costs of its
/// candidates is the cost of its borders. Returns false when borders are too small a part to be
/// measured so.
bool correct_borders(const std::vector<placement::FunctionPlacement>& placements,
                     const std::map<std::string, double>& step_ns, placement::Costs& costs);

}  // namespace byoc::driver
