#include "plugins/llvm/topi/schedule.h"

namespace byoc::llvm_plugin::topi {

te::ScheduleProvider default_schedules(const te::Target&) {
  return [](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    return Result<te::Schedule>(te::Schedule(dag));
  };
}

}  // namespace byoc::llvm_plugin::topi
