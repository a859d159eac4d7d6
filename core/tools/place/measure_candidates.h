// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measurement of all candidates of a module.
#include "core/tools/place/search.h"

namespace byoc::driver {

/// Measures the distinct candidates that the store of `costs` does not have, puts them there and
/// into its file, and counts them in `out`, which also receives how well estimates rank them.
/// `placed` is left as it was.
Status measure_candidates(IRModule& placed, const BuildOptions& build, const PlaceRequest& request,
                          const PassContext& context, placement::Costs& costs, PlaceOutcome& out);

}  // namespace byoc::driver
