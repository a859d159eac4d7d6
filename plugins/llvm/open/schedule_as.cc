// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/open/schedule_as.h"

#include <algorithm>

#include "byoc/te/simplify.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin {
namespace {

class Replay {
 public:
  Replay(const te::Dag& dag, const te::Dag& nominal, const te::Target& target)
      : target_(target), open_(dag), nominal_(nominal) {}

  Status run(const te::Step& step) {
    te::Step own = step;
    if (step.primitive == "tile") return tile(step);
    if (step.primitive == "split") BYOC_TRY_STATUS(widen(own));
    if (step.primitive == "unroll" || step.primitive == "vectorize") {
      BYOC_TRY_STATUS(te::apply(nominal_, step));
      if (te::apply(open_, step).ok()) return {};
      return step.primitive == "unroll" ? Status() : vectorize(step);
    }
    BYOC_TRY_STATUS(te::apply(nominal_, step));
    return te::apply(open_, own);
  }
  te::Schedule take() { return std::move(open_); }

 private:
  Status tile(const te::Step& step) {
    BYOC_TRY_STATUS(run({"split", step.stage, {step.names[0]}, {step.numbers[0]}}));
    BYOC_TRY_STATUS(run({"split", step.stage, {step.names[1]}, {step.numbers[1]}}));
    return run(
        {"reorder",
         step.stage,
         {step.names[0] + ".o", step.names[1] + ".o", step.names[0] + ".i", step.names[1] + ".i"},
         {}});
  }

  // A factor that has all iterations of the nominal loop has all of every run.
  Status widen(te::Step& step) {
    BYOC_TRY(const te::Expr own, open_.extent(step.stage, step.names[0]));
    BYOC_TRY(const te::Expr number, nominal_.extent(step.stage, step.names[0]));
    const std::optional<int64_t> count = te::as_int(te::simplify(number));
    if (!te::as_int(te::simplify(own)) && count && step.numbers[0] >= *count)
      step.numbers[0] = std::max(step.numbers[0], te::bounds_of(own).hi);
    return {};
  }

  Status vectorize(const te::Step& step) {
    const te::Dag& dag = open_.dag();
    const auto stage = std::ranges::find(dag.stages, step.stage, &te::Stage::name);
    constexpr int64_t kVectors = 4;  // whose work overlaps
    const int64_t lanes =
        std::max<int64_t>(target_.lanes(dtype_size(stage->outputs[0].dtype())), 2);
    BYOC_TRY_STATUS(open_.split(step.stage, step.names[0], kVectors * lanes));
    return open_.vectorize(step.stage, step.names[0] + ".i");
  }

  const te::Target& target_;
  te::Schedule open_, nominal_;
};

}  // namespace

Result<te::Schedule> schedule_as(const te::Dag& dag, const te::Dag& nominal, const te::Trace& trace,
                                 const te::Target& target) {
  Replay replay(dag, nominal, target);
  for (const te::Step& step : trace.steps) {
    Status status = replay.run(step);
    if (status.ok()) continue;
    return failed(cat("the schedule of ", dag.name,
                      " with numbers for its open sizes does not fit ",
                      "the function itself: ", status.message()))
        .with_slug("open-schedule")
        .with_help(
            "--shape with numbers in place of ranges compiles each size; please report the model");
  }
  return replay.take();
}

}  // namespace byoc::llvm_plugin
