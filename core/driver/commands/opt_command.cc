// SPDX-License-Identifier: Apache-2.0
// byoc opt: runs any passes, alone or in order.
#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "byoc/export.h"
#include "byoc/text/text.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/libraries.h"
#include "core/tools/model/model_options.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct OptFlags {
  ModelOptions model;
  std::string passes, output = "-";
  std::vector<std::string> sets;
  bool list = false;
};

Result<int> list_passes(const cli::CommonOptions& common) {
  cli::Table table({"pass", "arguments", "what it does"});
  Json passes = Json::array();
  for (const PassInfo& info : all_passes()) {
    table.add({info.name, info.args, info.doc});
    passes.push_back({{"name", info.name}, {"args", info.args}, {"doc", info.doc}});
  }
  cli::print_text(table.text(), common);
  BYOC_TRY_STATUS(cli::print_json(common, "passes", {{"passes", passes}}));
  return cli::kDone;
}

/// Sets an attribute as in "conv_relu.compiler=onednn". An empty value removes the attribute.
Status set_attribute(IRModule& module, const std::string& text) {
  size_t equals = text.find('='), dot = text.rfind('.', equals);
  if (equals == text.npos || dot == text.npos || dot == 0 || dot + 1 >= equals) {
    return cli::usage_error(cat("--set expects FUNCTION.ATTRIBUTE=VALUE, not \"", text, "\""));
  }
  std::string name = text.substr(0, dot), value = text.substr(equals + 1);
  Function* function = module.find(name);
  if (function == nullptr) {
    std::vector<std::string> known;
    for (const auto& [symbol, unused] : module.functions) known.push_back(symbol.str());
    return not_found(cat("--set: no function \"", name, "\"", did_you_mean(name, known)))
        .with_slug("unknown-function");
  }
  Symbol attr = text.substr(dot + 1, equals - dot - 1);
  if (value.empty()) function->attrs.erase(attr);
  else function->attrs.set(attr, value);
  return {};
}

Status write_result(const IRModule& module, const std::string& output,
                    const cli::CommonOptions& common) {
  if (output.ends_with(".onnx")) return export_onnx(module, output);
  if (output != "-") return write_module(module, output);
  cli::print_text(print(module), common);
  return {};
}

Result<int> run_opt(const OptFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(load_libraries(options.model));
  if (options.list) return list_passes(common);
  if (options.model.model.empty()) return cli::usage_error("no MODEL given");
  BYOC_TRY(auto passes, parse_passes(options.passes));
  BYOC_TRY(IRModule module, load_model(options.model));
  for (const std::string& text : options.sets) BYOC_TRY_STATUS(set_attribute(module, text));
  BYOC_TRY(BuildOptions build, build_options(options.model));
  // Passes name their plugins themselves, and a pass with one of them names it alone.
  build.options.try_emplace("slow", "taken");
  BYOC_TRY(PassContext context, make_context(module, build));
  BYOC_TRY(module, run_passes(std::move(module), passes, context));
  BYOC_TRY_STATUS(write_result(module, options.output, common));
  Json names = Json::array();
  for (const Pass& pass : passes) names.push_back(pass.name);
  Json fields = {{"passes", names}, {"output", options.output}};
  if (options.output == "-") fields["text"] = print(module);
  BYOC_TRY_STATUS(cli::print_json(common, "opt", fields));
  return cli::kDone;
}

}  // namespace

cli::Command opt_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<OptFlags>();
  cli::Command command;
  command.name = "opt";
  command.about = "run any passes, alone or in order";
  command.examples = {
      {"byoc opt net.onnx --passes fold_constants,eliminate_dead_code -o out.ir", "two passes"},
      {"byoc opt net.ir --passes annotate_target=onednn,merge_compiler_regions,partition_graph",
       "partition step by step"},
      {"byoc opt net.ir --set conv_relu.compiler=onednn --passes annotate_target,run_codegen",
       "offload one function"},
      {"byoc opt net.onnx --passes fold_constants,fold_batch_norm -o simple.onnx",
       "an ONNX model for other tools"},
      {"byoc opt --list", "every pass with its arguments"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options[0].required = false;  // --list needs none
  command.options.push_back(
      {"--passes", "A,B=X+Y", "passes in order, with arguments after =", &options->passes});
  command.options.push_back(
      {"--set", "FN.ATTR=VALUE", "set an attribute of a function first", &options->sets});
  command.options.push_back({"-o,--output", "FILE",
                             "where the module goes, .ir or .onnx; - is stdout", &options->output});
  command.options.push_back({"--list", "", "list the passes", &options->list});
  command.run = [options, &common] { return run_opt(*options, common); };
  return command;
}

}  // namespace byoc::driver
