// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that parallel loops do not nest.
#include "core/te/schedule/state.h"

namespace byoc::te {

/// Returns a parallel loop of the stage or of those at whose loops it is computed: "conv.i0".
std::optional<std::string> parallel_around(const ScheduleState& state, const std::string& stage);
/// Returns a parallel loop of the stage or of those that are computed at its loops.
std::optional<std::string> parallel_within(const ScheduleState& state, const std::string& stage);

}  // namespace byoc::te
