#include "plugins/llvm/lower.h"

#include "byoc/ir/intern.h"
#include "byoc/text/graph_json.h"
#include "plugins/llvm/topi/anchors.h"
#include "plugins/llvm/topi/depthwise.h"
#include "plugins/llvm/topi/pool.h"
#include "plugins/llvm/topi/schedule.h"
#include "plugins/llvm/topi/stem.h"
#include "plugins/llvm/topi/strategies.h"

namespace byoc::llvm_plugin {
namespace {

/// Tensor expressions contain no interned values, so those of the graph can be freed.
Result<te::Dag> translate(std::string_view graph_json, const te::Target& target) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_graph_json(graph_json, all_ops(), nullptr));
  return te::translate_to_te(module, module.function(module.entry), target, te::by_level(),
                             topi::strategies());
}

}  // namespace

Result<te::LoopFunction> loops_of_graph(std::string_view graph_json, const te::Target& target) {
  BYOC_TRY(te::Dag dag, translate(graph_json, target));
  const te::ScheduleProvider chain[] = {
      topi::stem_schedules(target), topi::depthwise_schedules(target), topi::pool_schedules(target),
      topi::anchor_schedules(target), topi::default_schedules(target)};
  BYOC_TRY(te::Schedule schedule, te::schedule_by(chain, dag));
  return te::lower(schedule);
}

Status can_translate(std::string_view graph_json, const te::Target& target) {
  Result<te::Dag> dag = translate(graph_json, target);
  return dag.ok() ? Status() : std::move(dag.status());
}

}  // namespace byoc::llvm_plugin
