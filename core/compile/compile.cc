// SPDX-License-Identifier: Apache-2.0
// The whole flow on one page: the plugins, the passes, and the compiled program.
#include "byoc/compile.h"

#include <algorithm>
#include <set>

#include "byoc/base/no_memory.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/intern.h"
#include "byoc/options.h"
#include "byoc/pass/bind.h"
#include "byoc/translate/policies.h"
#include "byoc/tune/history.h"
#include "core/machine/this_machine.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

std::vector<std::string> ids_with_default_flag(const PluginSet& plugins) {
  std::vector<std::string> out;
  for (const auto& plugin : plugins.all()) {  // by priority
    if (plugin->is_default_codegen()) out.push_back(plugin->id());
  }
  return out;
}

bool has_compiler_attribute(const IRModule& module) {
  return std::any_of(module.functions.begin(), module.functions.end(), [](const auto& item) {
    return item.second.attrs.has("compiler") && !item.second.attrs.has("primitive");
  });
}

/// Returns --default, else the last plugin of --compiler with the flag DEFAULT, else the usable
/// plugin with that flag of highest priority.
Result<std::string> choose_default(const BuildOptions& options) {
  if (!options.default_codegen.empty()) {
    BYOC_TRY(const Plugin* plugin, options.plugins->get(options.default_codegen));
    if (plugin->is_default_codegen()) return plugin->id();
    return invalid(cat("plugin \"", plugin->id(),
                       "\" cannot be the default codegen: it does not have the flag DEFAULT"))
        .with_slug("no-default-codegen")
        .with_help("byoc plugins lists those that have it");
  }
  for (auto id = options.compilers.rbegin(); id != options.compilers.rend(); ++id) {
    BYOC_TRY(const Plugin* plugin, options.plugins->get(*id));
    if (plugin->is_default_codegen()) return plugin->id();
  }
  std::vector<std::string> all = ids_with_default_flag(*options.plugins);
  return all.empty() ? std::string() : all.front();
}

/// Takes "auto" out of the list of plugins; returns whether plugins are chosen by cost: it was
/// there, or the list is empty and no function names a plugin.
bool take_auto(std::vector<std::string>& compilers, const IRModule& module) {
  if (compilers.empty()) return !has_compiler_attribute(module);
  return std::erase(compilers, "auto") > 0;
}

/// Joins the first items of a list: messages stay short for models with many inputs.
class ShortList {
 public:
  explicit ShortList(std::string separator) : separator_(std::move(separator)) {}
  void add(const std::string& item) {
    if (++size_ <= kShown) text_ += cat(text_.empty() ? "" : separator_, item);
  }
  std::string text() const {
    return size_ <= kShown ? text_ : cat(text_, " and ", size_ - kShown, " more");
  }

 private:
  static constexpr size_t kShown = 4;
  std::string separator_, text_;
  size_t size_ = 0;
};

/// Chooses the compilers and default codegens of the context. Returns true for a choice by cost.
Result<bool> choose_plugins(const IRModule& module, const BuildOptions& options,
                            PassContext& context) {
  BuildOptions resolved = options;
  resolved.plugins = context.plugins;
  const bool by_cost = take_auto(resolved.compilers, module);
  for (const std::string& id : resolved.compilers)
    BYOC_TRY_STATUS(context.plugins->get(id).status());
  BYOC_TRY(std::string first, choose_default(resolved));
  if (!first.empty()) context.defaults.push_back(first);
  for (const std::string& id : ids_with_default_flag(*context.plugins)) {
    if (id != first) context.defaults.push_back(id);
  }
  for (const std::string& id : resolved.compilers) {
    if (id != first) context.compilers.push_back(id);
  }
  if (resolved.compilers.empty() && (by_cost || !has_compiler_attribute(module))) {
    for (const auto& plugin : context.plugins->all()) {
      if (!plugin->is_default_codegen() && plugin->priority() >= 0)
        context.compilers.push_back(plugin->id());
    }
  }
  return by_cost;
}

}  // namespace

Result<PassContext> make_context(const IRModule& module, const BuildOptions& options) {
  if (options.level < kMinLevel || options.level > kMaxLevel)
    return invalid(cat("there is no optimisation level ", options.level, ", only ", kMinLevel,
                       " to ", kMaxLevel))
        .with_slug("unknown-level");
  PassContext context;
  context.plugins = options.plugins ? options.plugins : PluginSet::load({});
  BYOC_TRY(const bool by_cost, choose_plugins(module, options, context));
  context.level = options.level;
  context.strict = options.strict;
  context.threads = options.threads;
  context.compile_flags = compile_flags(options);
  context.cancel = options.cancel;
  context.target_json = options.target_json;
  context.options = options.options;
  const bool is_alone = options.compilers.size() == 1 && !by_cost;
  if (!is_alone) context.options.try_emplace("slow", "avoided");
  if (by_cost) {
    context.options["placement"] = options.compilers.empty() ? "estimates" : "cost";
    BYOC_TRY(const auto machine, machine::this_machine());
    context.machine = machine::view_of(*machine, options.threads);
  }
  context.instruments = options.instruments;
  context.report = options.report;
  context.histories = tune::ApplyHistoryBest::active();
  if (options.history) context.histories.push_back(options.history);
  context.require_tuned = options.require_tuned;
  context.history_report = options.history_report;
  context.policies = te::ApplyPolicies::active();
  if (options.policies) context.policies.push_back(options.policies);
  context.judge_cache = std::make_shared<JudgeCache>();
  context.made_of = std::make_shared<const BuildOptions>(options);
  BYOC_TRY_STATUS(check_pass_names(context));  // a misspelt BYOC_SKIP would have no effect
  return context;
}

// One message about the inputs, before the ops that depend on them fail one by one: sizes are
// numbers, or open within bounds, for which memory is planned.
Status check_static_inputs(const IRModule& module) {
  const Function* entry = module.find(module.entry);
  if (entry == nullptr)
    return invalid(cat("the module has no function @", module.entry)).with_slug("unknown-function");
  std::set<std::string> sizes;
  ShortList inputs(", "), flags(" ");
  for (uint32_t k = 0; k < entry->num_params(); ++k) {
    const TensorType& type = *entry->nodes[k].types[0];
    for (Dim dim : type.shape) {
      for (Dim size : sizes_in(dim)) {
        if (size.max() == Dim::kUnbounded) sizes.insert(size.name().str());
      }
    }
    if (!is_static(at_bounds(type.shape)))
      inputs.add(cat(std::get<Param>(entry->nodes[k].kind).name, " ", type));
  }
  if (sizes.empty()) return {};
  for (const std::string& size : sizes) flags.add(cat("--shape ", size, "=1"));
  return invalid(cat("inputs have open sizes: ", inputs.text()))
      .with_slug("symbolic-shape")
      .with_help(cat("give them with ", flags.text(),
                     ", or as ranges for one program of all sizes, ", "as in --shape ",
                     *sizes.begin(), "=1..64"));
}

Result<IRModule> partition_for(IRModule module, const BuildOptions& options) {
  return or_no_memory([&]() -> Result<IRModule> {
    BYOC_TRY(PassContext context, make_context(module, options));
    return run_passes(std::move(module), partition_pipeline(context), context);
  });
}

namespace {

Result<Executable> build_one(IRModule module, const BuildOptions& options) {
  BYOC_TRY(PassContext context, make_context(module, options));
  BYOC_TRY_STATUS(check_static_inputs(module));
  BYOC_TRY(module, note_state_rows(std::move(module)));
  BYOC_TRY(module, run_passes(std::move(module), Pipeline::whole(context), context));
  return make_executable(module);
}

// Returns the options of the second program: its plugins are listed, and nothing is reported.
BuildOptions fallback_options(const BuildOptions& options) {
  BuildOptions out = options;
  out.compilers = std::move(out.fallback);
  out.fallback.clear();
  out.default_codegen.clear();
  for (const char* choice : {"plan", "place"}) out.options.erase(choice);
  out.report = nullptr;
  out.history_report = nullptr;
  out.instruments.clear();
  return out;
}

Result<Executable> build_all(IRModule module, const BuildOptions& options) {
  if (options.fallback.empty()) return build_one(std::move(module), options);
  Result<Executable> other = build_one(module, fallback_options(options));
  if (!other.ok()) return std::move(other.status()).at("--fallback");
  BYOC_TRY(Executable out, build_one(std::move(module), options));
  out.fallback = std::make_shared<const Executable>(*std::move(other));
  return out;
}

}  // namespace

Result<Executable> build(IRModule module, const BuildOptions& options) {
  return or_no_memory([&] {
    // An Executable contains no interned values. Remarks do, and instruments may keep modules.
    if (options.report != nullptr || !options.instruments.empty())
      return build_all(std::move(module), options);
    InternArena arena;
    InternScope scope(arena);
    return build_all(std::move(module), options);
  });
}

}  // namespace byoc
