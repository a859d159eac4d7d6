// SPDX-License-Identifier: Apache-2.0
#pragma once
// Placements as text and JSON: the candidates of each op, their costs, and what others would cost.
#include "byoc/base/json.h"
#include "core/placement/plan.h"

namespace byoc::driver {

/// The choice for all functions of a module, by costs alone or as a plan has it.
struct ExplainedPlacement {
  std::shared_ptr<const PluginSet> plugins;  // the candidates point at them
  IRModule module;                           // before the choice
  std::vector<placement::FunctionPlacement> functions;
  placement::Costs costs;
  std::vector<std::string> remarks;
};

/// Returns the table of all ops, or all about the ops of one name when `op` is not empty. Errors:
/// slug "unknown-node".
Result<std::string> placement_text(const ExplainedPlacement& explained, const std::string& op);
Json placement_json(const ExplainedPlacement& explained);
/// Returns the ops that two plans give to different plugins. Errors: slug "plan-outdated" when they
/// are for different graphs.
Result<std::string> plan_difference(const ExplainedPlacement& now, const placement::Plan& before);

}  // namespace byoc::driver
