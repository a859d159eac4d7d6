// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of a child process that measures some probes of one plugin.
#include "core/tools/probe/probe.h"

namespace byoc::driver {

/// Compiles the probes as one program, compares their results with the reference's, and times each
/// alone. Returns an array of ProbeResult as JSON, or {"failed": MESSAGE}.
std::string run_batch(std::span<const Probe> probes, const BuildOptions& build,
                      const ProbePlan& plan);

}  // namespace byoc::driver
