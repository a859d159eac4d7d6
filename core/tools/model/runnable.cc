// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/runnable.h"

#include "byoc/import.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "runtime/cli/named_plugins.h"
#include "runtime/cli/output.h"

namespace byoc::driver {

Warn warn_to(const cli::CommonOptions& common) {
  return [&common](const std::string& text) { cli::print_warning(text, common); };
}

namespace {
const cli::CommonOptions* installed = nullptr;
}  // namespace

void install_warnings(const cli::CommonOptions* common) { installed = common; }

void installed_warn(const std::string& text) {
  cli::print_warning(text, installed == nullptr ? cli::CommonOptions() : *installed);
}

RunnableHooks hooks_for(const cli::CommonOptions& common) {
  return {warn_to(common), [&common](IRModule module, const BuildOptions& build_with) {
            CompileProgress progress(user_cancellation(), common);
            return build(std::move(module), build_with);
          }};
}

Status check_artifact_flags(const ModelOptions& options) {
  std::vector<std::string> flags;
  bool is_any_given = false;
  for (const OptionInfo& row : option_table()) {
    if (!row.needs_model || row.name == option::kShape.name) continue;
    flags.push_back(flag_of(row));
    is_any_given = is_any_given || options.values.is_given(row);
  }
  if (!is_any_given) return {};
  std::string names;
  for (size_t k = 0; k + 1 < flags.size(); ++k) names += cat(k ? ", " : "", flags[k]);
  return cli::usage_error(
      cat(names, " and ", flags.back(), " change compiling; the model is compiled already"));
}

namespace {

Result<cli::RunInputs> inputs_of(const Program& program, const std::vector<std::string>& inputs,
                                 const cli::RunSizes& run) {
  return cli::inputs_of_run(program.inputs, program.sizes, inputs, run, tensor_readers());
}

}  // namespace

Result<Runnable> make_runnable(const ModelOptions& options, const std::string& path,
                               const std::vector<std::string>& inputs, const RunnableHooks& hooks) {
  Runnable out;
  if (is_artifact(path)) {
    BYOC_TRY_STATUS(check_artifact_flags(options));
    BYOC_TRY(out.plugins, load_plugins(options.plugins()));
    BYOC_TRY(auto all, load_artifact_sizes(path));
    auto sizes = take_entry(std::move(all), options[option::kEntry]);
    if (!sizes.ok()) return std::move(sizes.status()).at(path);
    BYOC_TRY(auto run, cli::parse_run_sizes(options[option::kShape], "--shape"));
    auto picked = cli::pick_size(*std::move(sizes), inputs, run, tensor_readers());
    if (!picked.ok()) return std::move(picked.status()).at(path);
    out.size = *std::move(picked);
    out.executable = std::move(out.size.executable);
    BYOC_TRY(out.inputs, inputs_of(out.executable.program, inputs, out.size.run));
    warn_unused_plugins(plugins_of(out.executable), *out.plugins, options, hooks.warn);
    return out;
  }
  BYOC_TRY(IRModule module, load_model(options));
  warn_of_import(module, hooks.warn);
  BYOC_TRY(BuildOptions build_with, build_options(options));
  out.plugins = build_with.plugins;
  Report report;
  build_with.report = &report;
  BYOC_TRY(out.executable, hooks.build ? hooks.build(std::move(module), build_with)
                                       : build(std::move(module), build_with));
  BYOC_TRY(out.inputs, inputs_of(out.executable.program, inputs, {}));
  warn_unused_plans(report, hooks.warn);
  warn_unused_plugins(plugins_of(out.executable), *out.plugins, options, hooks.warn);
  return out;
}

std::set<std::string> plugins_of(const Executable& executable) {
  std::set<std::string> ids;
  for (const ExternalModule& module : executable.modules) ids.insert(module.plugin);
  if (executable.fallback) ids.merge(plugins_of(*executable.fallback));
  return ids;
}

void warn_unused_plugins(const std::set<std::string>& used, const PluginSet& plugins,
                         const ModelOptions& options, const Warn& warn) {
  if (!warn) return;
  const char* cure = is_artifact(options.model) ? "it was compiled without this plugin"
                                                : "byoc explain has the reasons";
  for (const std::string& file : options[option::kPlugin]) {
    for (const auto& plugin : plugins.all()) {
      if (used.contains(plugin->id()) || !cli::is_same_file(plugin->path(), file)) continue;
      warn(cat("--plugin ", file, ": ", plugin->id(), " runs nothing of the model; ", cure));
    }
  }
}

void warn_of_import(const IRModule& module, const Warn& warn) {
  const Function* entry = module.find(module.entry);
  if (entry == nullptr || !warn) return;
  for (const std::string& warning : entry->attrs.strings("import_warnings")) warn(warning);
  const int64_t opset = entry->attrs.i("opset", 0);
  if (opset <= newest_onnx_opset()) return;
  warn(cat("the model is of opset ", opset, ", its operators are taken as those of ",
           newest_onnx_opset(), ", the newest one known"));
}

void warn_unused_plans(const Report& report, const Warn& warn) {
  if (!warn) return;
  std::set<std::string> printed;
  for (const Report::Remark& remark : report.remarks) {
    const bool is_unused =
        remark.kind == Report::Remark::kNote && (remark.op == "plan" || remark.op == "symbol");
    if (is_unused && printed.insert(remark.reason).second) warn(remark.reason);
  }
}

}  // namespace byoc::driver
