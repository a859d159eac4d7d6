// SPDX-License-Identifier: Apache-2.0
// The tasks of a module: the passes of build up to run_codegen, then one look at each function.
#include "byoc/base/check.h"
#include "byoc/tune/task.h"

#include <algorithm>
#include <map>
#include <set>

#include "byoc/ir/intern.h"
#include "byoc/tune/history.h"
#include "core/codegen/tuned_points.h"
#include "core/tuner/regions.h"

namespace byoc::tune {
namespace {

// Gathers tasks: functions with different constants may have one task.
class Gathering {
 public:
  Gathering(const IRModule& module, const PassContext& context)
      : module_(module), context_(context) {}
  Status add(const Region& region) {
    BYOC_TRY(std::optional<KnobbedRegion> found, knobbed(module_, region, context_));
    if (!found || !found->has_choice) return {};
    Space& space = found->space;
    const ContentKey key = key_of(found->plugin->id(), space);
    auto [at, is_new] = tasks_.try_emplace(key);
    Task& task = at->second;
    if (is_new) {
      task.plugin = found->plugin->id(), task.key = key;
      task.space = std::move(space), task.input = std::move(found->input);
    }
    BYOC_CHECK(!region.symbols.empty(), "a region has a symbol");
    task.count += region.calls;
    task.symbols.insert(task.symbols.end(), region.symbols.begin(), region.symbols.end());
    std::set<std::string>& seen = locs_[key];
    for (const std::string& loc : region.locs) {
      if (seen.insert(loc).second) task.locs.push_back(loc);
    }
    return {};
  }
  // Returns the tasks, heaviest first.
  Result<std::vector<Task>> take() && {
    BYOC_TRY(const std::string target, record_target(context_.target_json));
    std::vector<Task> out;
    for (auto& [key, task] : tasks_) {
      const Choice known =
          best_choice(context_, {task.plugin, task.space, target, threads_of_runs(context_)});
      const double ns = known.origin == Origin::kMiss ? estimated_ns(task.space) : known.best_ns;
      task.weight = static_cast<double>(task.count) * ns;
      out.push_back(std::move(task));
    }
    std::ranges::stable_sort(out, std::ranges::greater(), &Task::weight);  // equal ones: by key
    return out;
  }

 private:
  const IRModule& module_;
  const PassContext& context_;
  std::map<ContentKey, Task> tasks_;
  std::map<ContentKey, std::set<std::string>> locs_;
};

Result<std::vector<Task>> extract(IRModule module, const BuildOptions& options) {
  BYOC_TRY(PassContext context, make_context(module, options));
  BYOC_TRY_STATUS(check_static_inputs(module));
  BYOC_TRY(module, run_passes(std::move(module), passes_before_codegen(context), context));
  Gathering gathering(module, context);
  for (const Region& region : distinct_regions(module)) BYOC_TRY_STATUS(gathering.add(region));
  return std::move(gathering).take();
}

}  // namespace

Result<std::vector<Task>> extract_tasks(IRModule module, const BuildOptions& options) {
  // As in build: tasks contain no interned values, remarks do.
  if (options.report != nullptr || !options.instruments.empty())
    return extract(std::move(module), options);
  InternArena arena;
  InternScope scope(arena);
  return extract(std::move(module), options);
}

}  // namespace byoc::tune
