// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures a machine for the analytic model of costs.
#include "core/placement/machine.h"
#include "core/tools/probe/probe.h"

namespace byoc::driver {

/// Returns all open plugins, and those of build.compilers that are opened when they are named.
std::vector<const Plugin*> calibrated_plugins(const BuildOptions& build);

/// Measures peaks, bandwidths, a call, a change of layout and the links of devices, then some ops
/// of each class with every plugin of `build`, in children with the time limit `timeout_s` of
/// ProbePlan. Takes seconds. Ops that are refused, crash or hang have no sample.
Result<placement::Machine> calibrate(
    const BuildOptions& build, uint32_t timeout_s,
    const std::function<void(std::string_view what, uint64_t done, uint64_t total)>& progress);

}  // namespace byoc::driver
