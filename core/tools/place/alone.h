// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs in which one plugin runs all that it takes, as a measure of the plugins' costs.
#include "core/placement/plan.h"

namespace byoc::driver {

/// A program of one plugin and the default codegen, or of the latter alone, and its times.
struct AloneProgram {
  std::vector<std::string> plugins;  // the plugin, or none
  placement::Plan plan;
  std::map<std::string, double> step_ns;  // by symbol
};

/// Replaces all corrections and factors of `costs` by those that these programs show, one after
/// another. A candidate has the cost of the first program that has it: ops of the default codegen
/// cost less or more between those of another plugin. The factor of borders stays. `placed` is the
/// module before the choice and is left as it was. Errors: those of choosing.
Status correct_by_programs(IRModule& placed, const std::vector<AloneProgram>& programs,
                           const PassContext& context, placement::Costs& costs);

}  // namespace byoc::driver
