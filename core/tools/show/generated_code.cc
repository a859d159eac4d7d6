// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/generated_code.h"

#include <algorithm>
#include <set>

#include "byoc/base/nearest.h"
#include "byoc/te/module.h"
#include "core/codegen/tuned_points.h"

namespace byoc::driver {
namespace {

/// Returns the functions that plugins compile, in order: all of them, or `only`.
Result<std::vector<Symbol>> regions_of(const IRModule& module, const std::string& only) {
  std::vector<Symbol> out;
  std::vector<std::string> known;
  for (const auto& [name, function] : module.functions) {
    bool is_region = function.attrs.has("compiler") && !function.attrs.has("composite");
    if (!is_region || name == module.entry) continue;
    known.push_back(name.str());
    if (only.empty() || only == known.back()) out.push_back(name);
  }
  if (only.empty() || !out.empty()) return out;
  std::string all;
  for (const std::string& name : known) all += cat(all.empty() ? "" : ", ", name);
  return not_found(cat("no compiled function \"", only, "\"", did_you_mean(only, known)))
      .with_slug("unknown-function")
      .at(cat("compiled functions: ", all.empty() ? "none" : all));
}

/// Sets the code as text, empty when the plugin has none of that form or declines the function, and
/// the point of a log that it was made for.
Status add_code(const IRModule& module, Symbol name, const Plugin& plugin, CodeForm form,
                const PassContext& context, GeneratedCode& to) {
  CompileFunction input = compile_input(module, name);
  const Function& function = module.function(name);
  const std::string compute = te::has_loops(function) ? "" : function.attr(kComputeKnob);
  if (TunedPoints points(context); points.is_active() || !compute.empty()) {
    BYOC_TRY(auto chosen, points.choose(plugin, input, compute, 1));
    if (chosen) {
      to.point = chosen->entry.choice.point;
      points.report(std::move(chosen->entry));
    }
  }
  auto text = plugin.show(
      input, {context.target_json, context.threads, context.compile_flags, context.cancel},
      name_of(form));
  const Code code = text.status().code();
  if (code == Code::kUnimplemented || code == Code::kDeclined) return {};
  if (!text.ok()) return std::move(text.status()).at(cat("@", name));
  to.text = *std::move(text);
  return {};
}

Status check_any(const std::vector<GeneratedCode>& codes) {
  std::set<std::string> plugins;
  for (const GeneratedCode& code : codes) {
    if (!code.text.empty()) return {};
    plugins.insert(code.plugin);
  }
  if (plugins.empty()) return invalid("the model has no compiled functions").with_slug("no-code");
  std::string all;
  for (const std::string& id : plugins) all += cat(all.empty() ? "" : ", ", id);
  return invalid(cat("no plugin that compiles this shows such code: ", all))
      .with_slug("no-code")
      .with_help("byoc print MODEL --compiler llvm --llvm");
}

}  // namespace

const char* name_of(CodeForm form) {
  switch (form) {
    case CodeForm::kLlvm:
      return "llvm";
    case CodeForm::kAssembly:
      return "asm";
    case CodeForm::kWork:
      break;
  }
  return "work";
}

Result<std::vector<GeneratedCode>> generated_code(IRModule module, const std::string& function,
                                                  CodeForm form, const ModelOptions& options) {
  BYOC_TRY_STATUS(check_static_inputs(module));
  BYOC_TRY(BuildOptions build, build_options(options));
  BYOC_TRY(PassContext context, make_context(module, build));
  BYOC_TRY(auto passes, Pipeline::until("choose_computes", context));
  BYOC_TRY(module, run_passes(std::move(module), passes, context));
  BYOC_TRY(std::vector<Symbol> names, regions_of(module, function));
  std::vector<GeneratedCode> codes;
  for (Symbol name : names) {
    GeneratedCode& code = codes.emplace_back();
    code.function = name.str();
    code.plugin = module.function(name).attr("compiler");
    BYOC_TRY(const Plugin* plugin, context.plugins->get(code.plugin));
    BYOC_TRY_STATUS(add_code(module, name, *plugin, form, context, code));
  }
  BYOC_TRY_STATUS(check_any(codes));
  return codes;
}

}  // namespace byoc::driver
