// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/lower.h"

#include "byoc/ir/intern.h"
#include "byoc/te/module.h"
#include "byoc/text/graph_json.h"
#include "plugins/llvm/analysis/written_loops.h"
#include "plugins/llvm/knobs.h"
#include "plugins/llvm/topi/schedule.h"
#include "plugins/llvm/topi/strategies.h"

namespace byoc::llvm_plugin {
namespace {

Result<te::Dag> translate(const IRModule& module, const te::Target& target) {
  return te::translate_to_te(module, module.function(module.entry), target, te::by_level(),
                             topi::strategies());
}

Result<te::LoopFunction> loops_of(const IRModule& module, const te::Target& target) {
  BYOC_TRY(te::Dag dag, translate(module, target));
  const topi::Template schedules = topi::template_of(dag, target);
  BYOC_TRY(te::Schedule schedule, schedules.at(schedules.first));
  return te::lower(schedule);
}

IRModule module_of(Function piece) {
  IRModule out;
  out.functions[out.entry] = std::move(piece);
  return out;
}

}  // namespace

Result<IRModule> read_function(std::string_view graph_json) {
  return read_graph_json(graph_json, all_ops(), nullptr);
}

Result<Lowered> lower_function(const IRModule& module, const te::Target& target, SplitWhen when,
                               const topi::Point& point) {
  Lowered out;
  if (te::has_loops(module.function(module.entry))) {
    if (!point.empty())
      return invalid("a point for a loop function, which has no knobs").with_slug("bad-point");
    BYOC_TRY(te::LoopFunction loops, written_loops(module));
    out.kernels.push_back(std::move(loops));
    return out;
  }
  if (!point.empty()) {
    BYOC_TRY(te::LoopFunction loops, loops_at(module, target, point));
    out.kernels.push_back(std::move(loops));
    return out;
  }
  BYOC_TRY(std::optional<Split> split, split_function(module, target, when));
  if (!split) {
    BYOC_TRY(te::LoopFunction loops, loops_of(module, target));
    out.kernels.push_back(std::move(loops));
    return out;
  }
  for (Function& piece : split->pieces) {
    BYOC_TRY(te::LoopFunction loops, loops_of(module_of(std::move(piece)), target));
    out.kernels.push_back(std::move(loops));
  }
  out.sequence = std::move(split->sequence);
  return out;
}

// Frees the interned values of the graph: tensor expressions contain none.
Result<te::LoopFunction> loops_of_graph(std::string_view graph_json, const te::Target& target) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_function(graph_json));
  return loops_of(module, target);
}

Status can_translate(std::string_view graph_json, const te::Target& target) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_function(graph_json));
  BYOC_TRY(std::optional<Split> split, split_function(module, target));
  if (!split) return translate(module, target).status();
  for (Function& piece : split->pieces)
    BYOC_TRY_STATUS(translate(module_of(std::move(piece)), target).status());
  return {};
}

}  // namespace byoc::llvm_plugin
