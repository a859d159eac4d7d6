// SPDX-License-Identifier: Apache-2.0
// The primitive tensorize: replaces loops of a stage by calls of a micro-kernel.
#include "core/te/lower/tensorize.h"

namespace byoc::te {
namespace {

void set_intrin(StageState& stage, size_t position, std::shared_ptr<const TensorIntrin> intrin) {
  for (size_t k = position; k < stage.leaves.size(); ++k)
    stage.iters[stage.leaves[k]].is_tensorized = intrin != nullptr;
  stage.iters[stage.leaves[position]].intrin = std::move(intrin);
}

}  // namespace

// Lowers the schedule once to find out whether the loops fit.
Status Schedule::tensorize(const std::string& stage, const std::string& loop,
                           const TensorIntrin& intrin) {
  Primitive call{*state_, cat("tensorize(", stage, ", ", loop, ", ", intrin.name, ")")};
  if (Status status = check_declaration(intrin); !status.ok()) return call.refuse(status.message());
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.plain_loop(s, loop));
  StageState& mine = state_->stages[s];
  const size_t position = *position_of(mine, iter);
  for (size_t k = position + 1; k < mine.leaves.size(); ++k)
    BYOC_TRY_STATUS(call.plain_loop(s, mine.iters[mine.leaves[k]].name).status());
  set_intrin(mine, position, std::make_shared<const TensorIntrin>(intrin));
  const Tensorized outcome = try_tensorize(*state_, s);
  if (outcome.calls == 0) {
    set_intrin(mine, position, nullptr);
    return call.refuse(outcome.why_not);
  }
  state_->trace.steps.push_back({"tensorize", stage, {loop, intrin.name}, {}});
  return {};
}

}  // namespace byoc::te
