// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/alone.h"

#include "core/tools/place/corrections.h"
#include "core/tools/place/moves.h"

namespace byoc::driver {
namespace {

using namespace placement;

// Returns the choice of the program's plan with the costs as they are now.
Result<std::vector<FunctionPlacement>> priced(IRModule& placed, const AloneProgram& program,
                                              const PassContext& context, const Costs& costs) {
  std::vector<FunctionPlacement> out;
  BYOC_TRY(std::vector<Symbol> names, placed_functions(placed));
  for (Symbol name : names) {
    BYOC_TRY(FunctionPlacement all, place_function(placed, name, program.plugins, costs, context));
    BYOC_TRY(FunctionPlacement planned,
             planned_function(placed, name, program.plan, program.plugins, costs, context));
    all.chosen = std::move(planned.chosen);
    all.solution.state = states_of(all);
    out.push_back(std::move(all));
  }
  return out;
}

}  // namespace

Status correct_by_programs(IRModule& placed, const std::vector<AloneProgram>& programs,
                           const PassContext& context, Costs& costs) {
  costs.corrections.clear();
  costs.factors.clear();
  for (const AloneProgram& program : programs) {
    BYOC_TRY(std::vector<FunctionPlacement> placements, priced(placed, program, context, costs));
    const auto before = costs.corrections;
    BYOC_TRY_STATUS(correct_costs(placed, placements, program.step_ns, context, costs));
    for (const auto& [key, ns] : before) costs.corrections[key] = ns;
  }
  return {};
}

}  // namespace byoc::driver
