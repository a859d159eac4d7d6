// SPDX-License-Identifier: Apache-2.0
#include "core/conform/checks/taken_sample.h"

#include <algorithm>

#include "byoc/pass/partition.h"

namespace byoc::conform {
namespace {

std::optional<Program> first_op(const LoadedPlugin& tested) {
  std::optional<Program> found;
  for (const OpDef* op : ops_to_check()) {
    for (const Program& program : kept_programs_of(*op, Level::kCore)) {
      bool is_empty =
          *num_elements(program.module.function("main").nodes.back().types[0]->shape) == 0;
      if (is_empty) continue;
      Program constant = with_constants(program, 7);
      bool has_constants = !constant.module.constants.empty();
      if (has_constants && verdict_on(tested, constant).accept != Verdict::kNo) return constant;
      if (found || verdict_on(tested, program).accept == Verdict::kNo) continue;
      found = program;
    }
  }
  return found;
}

}  // namespace

Answer skipped_without_sample(Answer answer) {
  bool is_nothing = answer.outcome == Outcome::kFail && answer.reason == kTakesNothing;
  return is_nothing ? skip(kTakesNothing) : answer;
}

Result<std::optional<IRModule>> as_composite(const LoadedPlugin& tested, const PluginPattern& row,
                                             const Instance& instance, Report* report) {
  PassContext context = pass_context(tested);
  context.report = report;
  process::doing(cat("judge, ", instance.label));
  BYOC_TRY(IRModule merged, merge_composites(instance.module, {tested.plugin->id()}, context));
  std::string name = composite_name(*tested.plugin, row);
  bool formed = std::any_of(merged.functions.begin(), merged.functions.end(),
                            [&](auto& entry) { return entry.second.attr("composite") == name; });
  const Function& main = merged.function("main");
  bool whole = std::none_of(main.nodes.begin(), main.nodes.end(), [](const Node& node) {
    return std::holds_alternative<Call>(node.kind);
  });
  if (!formed || !whole) return std::optional<IRModule>();
  return std::optional<IRModule>(std::move(merged));
}

void for_instances(const LoadedPlugin& tested, uint64_t seed, size_t count,
                   const std::function<void(uint32_t pattern, const Instance&)>& use) {
  const auto& patterns = tested.plugin->patterns();
  for (uint32_t k = 0; k < patterns.size(); ++k) {
    auto pattern = Pattern::parse(patterns[k].dag_json);
    if (!pattern.ok() || pattern->max_ops() < 2) continue;
    process::doing(cat("making instances of pattern ", patterns[k].name));
    for (const Instance& instance : instances_of(*pattern, seed, 4 * count, count)) {
      if (instance.ops > 1) use(k, instance);
    }
  }
}

std::vector<TakenSample> taken_composites(const LoadedPlugin& tested, uint64_t seed, size_t count) {
  std::vector<TakenSample> out;
  for_instances(tested, seed, count, [&](uint32_t pattern, const Instance& instance) {
    const PluginPattern& row = tested.plugin->patterns()[pattern];
    auto module = as_composite(tested, row, instance);
    if (!module.ok() || !*module) return;
    std::string label = cat(composite_name(*tested.plugin, row), " as ", instance.label);
    out.push_back({std::move(label), **std::move(module), pattern});
  });
  return out;
}

std::optional<TakenSample> first_taken(const LoadedPlugin& tested, uint64_t seed) {
  if (std::optional<Program> op = first_op(tested)) {
    uint32_t pattern = pattern_of(tested, op->module).value_or(BYOC_NO_PATTERN);
    return TakenSample{op->label, std::move(op->module), pattern};
  }
  std::vector<TakenSample> composites = taken_composites(tested, seed, 16);
  if (composites.empty()) return std::nullopt;
  return std::move(composites[0]);
}

}  // namespace byoc::conform
