// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/constants/kernel_loops.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/constants/hoist.h"
#include "plugins/llvm/sketch/sketch_template.h"
#include "plugins/llvm/tiling/prefetch.h"
#include "plugins/llvm/tiling/row_prefetch.h"

namespace byoc::llvm_plugin {
namespace {

Result<te::LoopFunction> lower_at(const te::Dag& dag, const te::Target& target,
                                  const topi::Point* point) {
  const topi::Template schedules = sketch::template_of(dag, target);
  BYOC_TRY(te::Schedule schedule, schedules.at(point ? *point : schedules.first));
  BYOC_TRY(te::LoopFunction loops, te::lower(schedule));
  if (schedules.kind == "stem") return topi::with_row_prefetches(std::move(loops));
  return topi::with_prefetches(std::move(loops));
}

}  // namespace

Result<KernelLoops> lower_with_constants(const te::Dag& dag, size_t inputs,
                                         const te::Target& target, const topi::Point* point) {
  KernelLoops out;
  std::optional<Hoisted> hoisted = hoist_constants(dag, inputs);
  if (!hoisted) {
    BYOC_TRY(out.loops, lower_at(dag, target, point));
    return out;
  }
  BYOC_TRY(out.loops, lower_at(hoisted->rest, target, point));
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

}  // namespace byoc::llvm_plugin
