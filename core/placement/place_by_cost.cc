// SPDX-License-Identifier: Apache-2.0
// Chooses a plugin for each op by cost (docs/placement.md); merge_composites and annotate_target in
// one, for functions without the attribute `compiler`.
//   before: %0 = conv2d(%x, %w)
//           %1 = relu(%0)
//   after:  %0 = compiler_begin(%x) {compiler="onednn", open=true, region=0}
//           %1 = @onednn_conv2d_relu_0(%0, %w)
//           %2 = compiler_end(%1) {compiler="onednn", open=true, region=0}
#include <filesystem>

#include "byoc/pass/partition.h"
#include "core/placement/choose_base.h"
#include "core/region/inline_call.h"

namespace byoc {
namespace placement {
namespace {

// Times the model, for plugins that neither estimate nor were timed.
constexpr double kUnknownFactor = 2;

Result<IRModule> by_priority(IRModule module, const std::vector<std::string>& plugins,
                             const PassContext& context) {
  BYOC_TRY(module, merge_composites(std::move(module), plugins, context));
  return annotate_target(std::move(module), plugins, context);
}

Result<IRModule> planned_module(const IRModule& module, const std::vector<std::string>& plugins,
                                const Costs& costs, const Plan& plan, const PassContext& context) {
  IRModule out = module;
  if (plan.order) return by_priority(std::move(out), *plan.order, context);
  BYOC_TRY(std::vector<Symbol> names, placed_functions(out));
  for (Symbol name : names) {
    BYOC_TRY(FunctionPlacement placement,
             planned_function(out, name, plan, plugins, costs, context));
    BYOC_TRY(out.function(name), apply_placement(out, placement, context));
  }
  drop_uncalled_composites(out);
  return out;
}

}  // namespace

Result<IRModule> place_module(IRModule module, const std::vector<std::string>& plugins,
                              const Costs& costs, const Plan* plan, const PassContext& context,
                              PlaceNotes& notes) {
  if (plan != nullptr) {
    Status status = check_plan(*plan, empty_plan(module, plugins, costs, context));
    if (status.ok()) {
      Result<IRModule> planned = planned_module(module, plugins, costs, *plan, context);
      if (planned.ok()) {
        notes.certificates.push_back(cat("by the plan ", plan->path, ", ", plan->origin));
        return planned;
      }
      status = std::move(planned.status());
    }
    if (status.slug() != "plan-outdated") return status;
    notes.warnings.push_back(cat(status.message(), "; the choice is estimated anew"));
  }
  std::vector<std::string> estimating = plugins;
  if (context.option("placement") == "estimates") {
    BYOC_TRY(const std::vector<std::string> others,
             without_estimates(module, plugins, costs, context));
    for (const std::string& id : others) {
      std::erase(estimating, id);
      notes.certificates.push_back(
          cat("by priority, as it estimates no times on this machine: ", id));
    }
    if (!others.empty()) {
      BYOC_TRY(module, by_priority(std::move(module), others, context));
    }
  }
  BYOC_TRY(std::vector<FunctionPlacement> functions,
           place_functions(module, estimating, costs, context, notes));
  for (const FunctionPlacement& placement : functions) {
    BYOC_TRY(module.function(placement.function), apply_placement(module, placement, context));
  }
  drop_uncalled_composites(module);
  return module;
}

Result<Costs> costs_of(const PassContext& context) {
  const std::string folder = cost_folder_of(context);
  Costs costs = Costs::read(folder, context.threads);
  const bool exact_sums = (context.compile_flags & BYOC_STRICT_FP) != 0;
  BYOC_TRY(costs.code, measure::code_options(context.target_json, exact_sums));
  costs.has_base = true;
  if (context.machine != nullptr && !costs.machine.is_calibrated()) {
    use_machine(*context.machine, costs.machine);
    costs.unknown_factor = kUnknownFactor;
  }
  BYOC_TRY(costs.rules, Rules::parse(context.option("place")));
  for (const Rule& rule : costs.rules.all())
    BYOC_TRY_STATUS(context.plugins->get(rule.plugin).status());
  return costs;
}

std::string cost_folder_of(const PassContext& context) {
  const std::string folder = context.option("costs");
  return folder == "none" ? "" : folder.empty() ? cost_folder() : folder;
}

Result<std::optional<Plan>> plan_of(const IRModule& module, const std::vector<std::string>& plugins,
                                    const Costs& costs, const PassContext& context) {
  std::string path = context.option("plan");
  if (path == "none") return std::optional<Plan>();
  if (path.empty()) {
    const std::string folder = cost_folder_of(context);
    if (folder.empty()) return std::optional<Plan>();
    path = plan_path(folder, empty_plan(module, plugins, costs, context));
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return std::optional<Plan>();
  }
  BYOC_TRY(Plan plan, read_plan(path));
  plan.path = path;
  return std::optional<Plan>(std::move(plan));
}

}  // namespace placement

Result<IRModule> place_by_cost(IRModule module, const std::vector<std::string>& plugins,
                               const PassContext& context) {
  BYOC_TRY(placement::Costs costs, placement::costs_of(context));
  BYOC_TRY(std::optional<placement::Plan> plan,
           placement::plan_of(module, plugins, costs, context));
  placement::PlaceNotes notes{costs.remarks, {}};
  for (std::string& text : placement::unused_rules(module, costs.rules))
    notes.warnings.push_back(std::move(text));
  BYOC_TRY(module, placement::place_module(std::move(module), plugins, costs,
                                           plan ? &*plan : nullptr, context, notes));
  for (std::string& text : notes.warnings)
    context.remark({Report::Remark::kNote, "", "plan", {}, std::move(text)});
  for (std::string& text : notes.certificates)
    context.remark({Report::Remark::kNote, "", "placement", {}, std::move(text)});
  return module;
}

}  // namespace byoc
