// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan: the choice of plugins for one graph on one machine, as a file.
#include <optional>

#include "core/placement/place.h"

namespace byoc::placement {

/// The ops that one plugin runs as one, by the numbers of their nodes.
struct PlanChoice {
  std::string plugin, pattern;  // pattern: the composite's name; "" for an op alone
  std::vector<uint32_t> nodes;
};

struct Plan {
  std::string graph;                 // key of graph_text
  std::string machine, rules, code;  // code: as in measure::Key
  uint32_t threads = 1;
  int level = 2;
  std::vector<std::pair<std::string, std::string>> plugins;  // with builds and options
  std::string origin;                                        // "by cost", "onednn alone", ...
  double measured_ns = 0;  // of a run of the whole program; 0: not measured
  /// Plugins in order of priority, when priority is the best choice; `functions` is empty then.
  std::optional<std::vector<std::string>> order;
  std::vector<std::pair<std::string, std::vector<PlanChoice>>> functions;  // name, choices
  std::string path;  // of the file it was read from; not in the file
};

/// Returns a plan without choices for the module as it is now.
Plan empty_plan(const IRModule& module, const std::vector<std::string>& plugins, const Costs& costs,
                const PassContext& context);
void add_choices(const IRModule& module, const FunctionPlacement& placement, Plan& plan);

/// Checks that `plan` was made for this module, machine, plugins and options. Errors: kNotFound,
/// slug "plan-outdated", with what differs and both values.
Status check_plan(const Plan& plan, const Plan& now);
/// Returns the choice of `plan` for a function. Errors: slug "plan-outdated" when a plugin does not
/// take what the plan gives it.
Result<FunctionPlacement> planned_function(IRModule& module, Symbol name, const Plan& plan,
                                           const std::vector<std::string>& plugins,
                                           const Costs& costs, const PassContext& context);

Json to_json(const Plan& plan);
Result<Plan> plan_from_json(const Json& json);
Status write_plan(const Plan& plan, const std::string& path);
/// Errors: slug "plan", with the file.
Result<Plan> read_plan(const std::string& path);
/// Returns the file of a plan in a folder of costs.
std::string plan_path(const std::string& folder, const Plan& plan);

/// The report of a choice.
struct PlaceNotes {
  std::vector<std::string> warnings;      // why a plan or a file was not used
  std::vector<std::string> certificates;  // what the solver proved, per function
};

/// Returns the module with the plan, or else the choice by cost, written as open regions.
Result<IRModule> place_module(IRModule module, const std::vector<std::string>& plugins,
                              const Costs& costs, const Plan* plan, const PassContext& context,
                              PlaceNotes& notes);

/// Return what the options of a compilation name: `costs`, the folder of costs; `place`, rules;
/// `plan`, a file. Without `plan` the folder's plan for the module counts, if there is one. Errors:
/// slugs "placement-rule", "unknown-plugin", "plan".
std::string cost_folder_of(const PassContext& context);
Result<Costs> costs_of(const PassContext& context);
Result<std::optional<Plan>> plan_of(const IRModule& module, const std::vector<std::string>& plugins,
                                    const Costs& costs, const PassContext& context);

}  // namespace byoc::placement
