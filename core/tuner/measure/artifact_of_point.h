// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of builders: the right outputs of a task, and a point of it as an artifact.
#include "byoc/host/plugins.h"
#include "byoc/tune/space.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::tune {

/// Computes the outputs of the case with the plugin `reference`, and the default codegens for ops
/// that it refuses. Errors: those of compiling and running.
Status compute_outputs(driver::ReplayCase& replay, const std::string& reference,
                       const std::shared_ptr<const PluginSet>& plugins);
/// Compiles the case at a point with the plugin that it names. Returns a program of one step.
/// Errors: those of the plugin; a decline too.
Result<Executable> executable_of_point(const driver::ReplayCase& replay, const Point& point,
                                       uint32_t flags, const PluginSet& plugins);

}  // namespace byoc::tune
