// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/constants/kernel_loops.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/constants/hoist.h"
#include "plugins/llvm/constants/squares.h"
#include "plugins/llvm/open/schedule_as.h"
#include "plugins/llvm/sketch/sketch_template.h"
#include "plugins/llvm/tiling/prefetch.h"
#include "plugins/llvm/tiling/row_prefetch.h"

namespace byoc::llvm_plugin {
namespace {

Result<te::LoopFunction> lowered(const te::Schedule& schedule, const topi::Template& schedules) {
  BYOC_TRY(te::LoopFunction loops, te::lower(schedule));
  loops = with_squares(std::move(loops));
  if (schedules.kind == "stem") return topi::with_row_prefetches(std::move(loops));
  return topi::with_prefetches(std::move(loops));
}

Result<te::LoopFunction> lower_at(const te::Dag& dag, const te::Target& target,
                                  const topi::Point* point) {
  const topi::Template schedules = sketch::template_of(dag, target);
  BYOC_TRY(te::Schedule schedule, schedules.at(point ? *point : schedules.first));
  return lowered(schedule, schedules);
}

// Lowers a Dag with open sizes by a schedule of the same Dag with numbers: at the point `chosen`,
// or at the first guess that fits. Partial sums over an open loop, for example, fit at other
// points than partial sums over a loop of a number.
Result<te::LoopFunction> lower_as(const te::Dag& dag, const te::Dag& nominal,
                                  const te::Target& target, const topi::Point* chosen) {
  const topi::Template schedules = sketch::template_of(nominal, target);
  auto at = [&](const topi::Point& point) -> Result<te::LoopFunction> {
    BYOC_TRY(te::Schedule model, schedules.at(point));
    BYOC_TRY(te::Schedule schedule, schedule_as(dag, nominal, model.trace(), target));
    return lowered(schedule, schedules);
  };
  if (chosen != nullptr) return at(*chosen);
  Result<te::LoopFunction> first = at(schedules.first);
  if (first.ok() || first.status().slug() != "open-schedule") return first;
  for (const topi::Point& point : schedules.choices().guesses) {
    Result<te::LoopFunction> other = at(point);
    if (other.ok()) return other;
  }
  return first;
}

using LowerRest = std::function<Result<te::LoopFunction>(const te::Dag& rest)>;

Result<KernelLoops> lower_hoisted(std::optional<Hoisted> hoisted, const te::Dag& dag, size_t inputs,
                                  const te::Target& target, const LowerRest& lower_rest) {
  KernelLoops out;
  if (!hoisted) {
    BYOC_TRY(out.loops, lower_rest(dag));
    return out;
  }
  BYOC_TRY(out.loops, lower_rest(hoisted->rest));
  te::Target in_blocks = target;  // parallel loops: the host may release memory between blocks
  in_blocks.threads = std::max(target.threads, 2u);
  BYOC_TRY(te::LoopFunction constants, lower_at(hoisted->constants, in_blocks, nullptr));
  BYOC_CHECK(constants.inputs.size() == hoisted->reads.size(), "the code for constants has ",
             constants.inputs.size(), " inputs and reads ", hoisted->reads.size());
  const auto kept = static_cast<size_t>(std::ranges::count(hoisted->is_kept, true));
  BYOC_CHECK(out.loops.inputs.size() == inputs + kept + constants.outputs.size(), "the kernel has ",
             out.loops.inputs.size(), " inputs of ", inputs, ", ", kept, " and ",
             constants.outputs.size());
  out.constants =
      ConstantLoops{std::move(constants), std::move(hoisted->reads), std::move(hoisted->is_kept)};
  return out;
}

}  // namespace

Result<KernelLoops> lower_with_constants(const te::Dag& dag, size_t inputs,
                                         const te::Target& target, const topi::Point* point) {
  return lower_hoisted(hoist_constants(dag, inputs), dag, inputs, target,
                       [&](const te::Dag& rest) { return lower_at(rest, target, point); });
}

Result<te::LoopFunction> lower_whole(const te::Dag& dag, const te::Target& target) {
  return lower_at(dag, target, nullptr);
}

Result<KernelLoops> lower_open(const te::Dag& dag, const te::Dag& nominal, size_t inputs,
                               const te::Target& target, const topi::Point* point) {
  const std::optional<Hoisted> model = hoist_constants(nominal, inputs);
  const te::Dag& of_numbers = model ? model->rest : nominal;
  return lower_hoisted(hoist_constants(dag, inputs), dag, inputs, target, [&](const te::Dag& rest) {
    return lower_as(rest, of_numbers, target, point);
  });
}

Result<te::LoopFunction> lower_open_whole(const te::Dag& dag, const te::Dag& nominal,
                                          const te::Target& target) {
  return lower_as(dag, nominal, target, nullptr);
}

}  // namespace byoc::llvm_plugin
