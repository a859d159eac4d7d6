// SPDX-License-Identifier: Apache-2.0
// The tasks of a module: the passes of build up to run_codegen, then one look at each function.
#include "byoc/tune/task.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "byoc/ir/intern.h"
#include "byoc/tune/history.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/count_work.h"
#include "core/codegen/tuned_points.h"
#include "core/region/function_key.h"

namespace byoc::tune {
namespace {

// Returns the passes of build that come before run_codegen.
std::vector<Pass> passes_before_codegen(const PassContext& context) {
  std::vector<Pass> passes = Pipeline::whole(context);
  auto end = std::ranges::find(passes, "run_codegen", &Pass::name);
  passes.erase(end, passes.end());
  return passes;
}

// A function whose plugin makes one kernel for it, with the functions equal to it.
struct Region {
  const Function* function = nullptr;
  Symbol name;
  std::vector<std::string> symbols, locs;
  size_t calls = 0;
};

// Returns the regions of a module, equal ones as one, in the order of names.
std::vector<Region> distinct_regions(const IRModule& module) {
  const std::unordered_map<Symbol, size_t> calls = count_calls(module);
  std::unordered_map<std::string, size_t> index;  // by region_key
  std::vector<Region> out;
  for (const auto& [name, function] : module.functions) {
    if (!is_region(module, name, function)) continue;
    auto [at, is_new] = index.try_emplace(region_key(module, function), out.size());
    if (is_new) out.push_back({&function, name, {}, {}, 0});
    Region& region = out[at->second];
    region.symbols.push_back(name.str());
    for (Symbol loc : all_locs(module, function)) region.locs.push_back(loc.str());
    if (auto counted = calls.find(name); counted != calls.end()) region.calls += counted->second;
  }
  return out;
}

Status check_static_types(const Region& region) {
  for (const Node& node : region.function->nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (is_static(node.types[k]->shape)) continue;
      return invalid(cat("@", region.name, " has a value of type ", node.types[k],
                         "; a task needs numbers"))
          .with_slug("symbolic-shape")
          .with_help("bind the sizes, as in --shape N=1");
    }
  }
  return {};
}

// Gathers tasks: functions with different constants may have one task.
class Gathering {
 public:
  Gathering(const IRModule& module, const PassContext& context)
      : module_(module), context_(context) {}
  Status add(const Region& region) {
    BYOC_TRY_STATUS(check_static_types(region));
    BYOC_TRY(const Plugin* plugin,
             context_.plugins->get(std::string(region.function->attr("compiler"))));
    CompileFunction input = input_of(module_, *region.function, region.name);
    BYOC_TRY(std::optional<Space> space, knob_space(*plugin, input, context_));
    if (!space) return {};
    if (std::string compute = region.function->attr(kComputeKnob); !compute.empty()) {
      BYOC_TRY(*space, narrowed(*std::move(space), kComputeKnob, compute));
      if (size_of(*space) < 2) return {};  // no choice is left
    }
    const ContentKey key = key_of(plugin->id(), *space);
    auto [at, is_new] = tasks_.try_emplace(key);
    Task& task = at->second;
    if (is_new) {
      task.plugin = plugin->id(), task.key = key;
      task.space = *std::move(space), task.input = std::move(input);
    }
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
