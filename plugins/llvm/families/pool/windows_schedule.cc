// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plugins/llvm/families/pool/windows.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::pool {
namespace {

using namespace topi;

constexpr int64_t kPartsPerThread = 4;

bool is_window(const te::Stage& stage) {
  return stage.compute == kWindowsCompute && compute_of(stage) != nullptr;
}

// Returns the rows of a part: all, or as many as the second cache holds with the stages before
// them, and as threads share; of few, too much would be computed twice.
int64_t rows_of(const te::Dag& dag, const te::Stage& last, const te::Target& target) {
  const int64_t planes = extent_at(last, 0) * extent_at(last, 1), rows = extent_at(last, 2);
  int64_t bytes = 0, reach = 0;
  for (const te::Stage& stage : dag.stages) {
    if (!is_window(stage)) continue;
    bytes += elements_of(stage.outputs[0]) / planes *
             static_cast<int64_t>(dtype_size(stage.outputs[0].dtype()));
    if (reach == 0) reach = stage.outputs[0].rank() > 3 ? extent_at(stage, 2) - rows : 0;
  }
  const int64_t by_cache = (bytes + target.l2_bytes / 2 - 1) / (target.l2_bytes / 2);
  const int64_t wanted = target.threads > 1 ? kPartsPerThread * target.threads : 1;
  const int64_t parts = std::max(by_cache, (wanted + planes - 1) / planes);
  const int64_t least = std::max<int64_t>(2 * std::max<int64_t>(reach, 1), 8);
  return std::clamp<int64_t>((rows + parts - 1) / parts, std::min(least, rows), rows);
}

// Returns true when a condition of the stage reads the axis.
bool is_guarded(const te::Compute& own, const te::Var& axis) {
  const auto* select = std::get_if<te::Select>(&own.values[0]->kind);
  return select != nullptr && has_var(select->condition, axis);
}

// Fuses the last loops of a stage as far as every read moves evenly through them, and vectorises
// the loop that they become.
Status vectorize_rows(te::Schedule& schedule, const te::Stage& stage) {
  const te::Compute& own = *compute_of(stage);
  const auto loads = loads_of(own);
  int64_t count = extent_of(own.axes.back());
  std::vector<std::string> loops = {cat("i", own.axes.size() - 1)};
  for (size_t k = own.axes.size() - 1; k-- > 2; count *= extent_of(own.axes[k])) {
    const bool is_even = std::ranges::all_of(loads, [&](const te::Load* load) {
      const auto step = stride_of(*load, own.axes.back().var);
      const auto row = stride_of(*load, own.axes[k].var);
      return step && row && *row == *step * count;
    });
    if (!is_even || is_guarded(own, own.axes[k].var) || is_guarded(own, own.axes.back().var)) break;
    loops.insert(loops.begin(), cat("i", k));
  }
  BYOC_TRY(const std::string row, fuse_all(schedule, stage.name, loops));
  return schedule.vectorize(stage.name, row);
}

}  // namespace

bool has_windows(const te::Dag& dag) { return std::ranges::any_of(dag.stages, is_window); }

Result<te::Schedule> schedule_windows(const te::Dag& dag, const te::Target& target) {
  te::Schedule schedule(dag);
  const auto found = std::find_if(dag.stages.rbegin(), dag.stages.rend(), is_window);
  const te::Stage& last = *found;
  const std::string& name = last.name;
  const int64_t rows = rows_of(dag, last, target);
  std::vector<std::string> parts = {"i0", "i1"};
  if (rows < extent_at(last, 2)) {
    BYOC_TRY_STATUS(schedule.split(name, "i2", rows));
    parts.push_back("i2.o");
  }
  BYOC_TRY(const std::string part, fuse_all(schedule, name, parts));
  for (auto stage = dag.stages.rbegin(); stage != dag.stages.rend(); ++stage) {
    const te::Compute* own = compute_of(*stage);
    if (own == nullptr) continue;
    if (!is_window(*stage)) {
      BYOC_TRY_STATUS(
          order_moved(schedule, *stage, target.lanes(dtype_size(stage->outputs[0].dtype()))));
      continue;
    }
    if (&*stage == &last) {
      BYOC_TRY_STATUS(schedule.vectorize(name, schedule.loops(name).back()));
      continue;
    }
    BYOC_TRY_STATUS(schedule.compute_at(stage->name, name, part));
    BYOC_TRY_STATUS(vectorize_rows(schedule, *stage));
  }
  if (target.threads > 1) BYOC_TRY_STATUS(schedule.parallel(name, part));
  return schedule;
}

}  // namespace byoc::llvm_plugin::pool
