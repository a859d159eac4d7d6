// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/schedule.h"

#include "plugins/llvm/topi/planner.h"

namespace byoc::llvm_plugin::topi {

te::ScheduleProvider default_schedules(const te::Target& target) {
  return [target](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    return Result<te::Schedule>(Planner(dag, target).plan());
  };
}

}  // namespace byoc::llvm_plugin::topi
