// SPDX-License-Identifier: Apache-2.0
// byoc print: prints the IR as text, as imported or after a pass of the pipeline; or the tensor
// expressions and the code of its functions.
#include <algorithm>
#include <sstream>

#include "byoc/base/json.h"
#include "byoc/text/text.h"
#include "core/driver/commands/commands.h"
#include "core/library/printed.h"
#include "core/tools/model/tuning.h"
#include "core/tools/show/generated_code.h"
#include "core/tools/show/tensor_expressions.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct PrintFlags {
  ModelOptions model;
  std::string after, function;
  uint64_t elide = 64;
  bool te = false, llvm = false, assembly = false, work = false;
  bool has_code() const { return llvm || assembly || work; }
};

Result<int> print_te(const IRModule& module, const PrintFlags& options,
                     const cli::CommonOptions& common) {
  BYOC_TRY(const std::vector<FunctionDag> all, dags_after(module, options.model, options.function));
  nlohmann::ordered_json dags = nlohmann::ordered_json::array();
  for (const auto& [function, dag] : all) {
    cli::print_text(cat("// function ", function, "\n", te::print(dag)), common);
    dags.push_back(dag_json(module, function, dag));
  }
  BYOC_TRY_STATUS(cli::print_json(common, "print", {{"after", options.after}, {"te", dags}}));
  return cli::kDone;
}

/// Returns the lines as comments.
std::string commented(std::string_view lines, std::string_view mark) {
  std::string out;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n') + 1, lines.size());
    out += cat(mark, " ", lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return out;
}

/// Returns the sums of "name number name number ..." over all functions, in the same form.
std::string sums_of(const std::vector<GeneratedCode>& codes) {
  std::vector<std::pair<std::string, double>> sums;
  for (const GeneratedCode& code : codes) {
    std::istringstream words(code.text);
    std::string name;
    for (double number = 0; words >> name >> number;) {
      auto at = std::ranges::find(sums, name, &std::pair<std::string, double>::first);
      if (at == sums.end()) at = sums.insert(at, {name, 0});
      at->second += number;
    }
  }
  std::string out;
  for (const auto& [name, sum] : sums)
    out += cat(out.empty() ? "" : " ", name, " ", static_cast<int64_t>(sum));
  return out + "\n";
}

// Headings are comments, so that other tools can read the text.
Result<int> print_code(IRModule module, const PrintFlags& options,
                       const cli::CommonOptions& common) {
  const CodeForm form = options.work   ? CodeForm::kWork
                        : options.llvm ? CodeForm::kLlvm
                                       : CodeForm::kAssembly;
  const char* mark = options.llvm ? ";" : "#";
  BYOC_TRY(auto codes, generated_code(std::move(module), options.function, form, options.model));
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  for (const GeneratedCode& code : codes) {
    bool is_shown = !code.text.empty();
    const std::string point = code.point.empty() ? "" : cat(", at ", tune::print(code.point));
    cli::print_text(cat(mark, " function ", code.function, ", by ", code.plugin, point,
                        is_shown ? "\n" : ", which shows no code\n", code.text),
                    common);
    functions.push_back({{"function", code.function}, {"plugin", code.plugin}});
    if (!code.point.empty()) functions.back()["point"] = code.point;
    if (is_shown) functions.back()["text"] = code.text;
    else functions.back()["text"] = nullptr;
  }
  if (options.work) cli::print_text(cat("# all functions\n", sums_of(codes)), common);
  cli::print_text(commented(tuning_text(options.model), mark), common);
  Json json = {{"after", ""}, {name_of(form), functions}};
  add_tuning_json(options.model, json);
  BYOC_TRY_STATUS(cli::print_json(common, "print", json));
  return cli::kDone;
}

Status check_flags(const PrintFlags& options) {
  if (options.te + options.llvm + options.assembly + options.work > 1)
    return cli::usage_error("--te, --llvm, --asm and --work exclude each other; give one");
  if (!options.after.empty() && options.has_code())
    return cli::usage_error(
        "--llvm, --asm and --work show compiled functions; --after PASS stops before these exist");
  return {};
}

void warn_ranges(const std::vector<std::string>& ranges, const cli::CommonOptions& common) {
  if (!ranges.empty()) cli::print_warning(ranges_text(ranges), common);
}

Result<int> run_print(const PrintFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(check_flags(options));
  if (options.has_code()) {
    BYOC_TRY(RangedModel loaded, load_ranged(options.model));
    warn_ranges(loaded.ranges, common);
    return print_code(std::move(loaded.module), options, common);
  }
  BYOC_TRY(const RangedModel loaded, module_after(options.model, options.after, options.function));
  warn_ranges(loaded.ranges, common);
  const IRModule& module = loaded.module;
  if (options.te) return print_te(module, options, common);
  std::string text = print(module, {.elide = options.elide, .only_function = options.function});
  cli::print_text(cat(text, commented(tuning_text(options.model), "//")), common);
  Json json = {{"after", options.after}, {"text", text}};
  add_tuning_json(options.model, json);
  BYOC_TRY_STATUS(cli::print_json(common, "print", json));
  return cli::kDone;
}

}  // namespace

cli::Command print_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<PrintFlags>();
  cli::Command command;
  command.name = "print";
  command.about = "print the IR of a model as text, or the code that is generated from it";
  command.examples = {
      {"byoc print net.onnx", "as imported"},
      {"byoc print net.onnx --after partition_graph --fn main", "one function, partitioned"},
      {"byoc print net.onnx --te", "the tensor expression of every stage of the model"},
      {"byoc print net.onnx --compiler llvm --llvm", "the LLVM IR of every compiled function"},
      {"byoc print net.onnx --compiler llvm --asm --fn llvm_main_0", "the assembly of one"},
      {"byoc print net.onnx --compiler llvm --threads 16 --work", "how 16 threads share the work"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  command.options.push_back(
      {"--after", "PASS", "run the pipeline up to this pass first", &options->after});
  command.options.push_back({"--fn", "NAME", "only this function", &options->function});
  command.options.push_back(
      {"--elide", "N", "constants of more elements are shown by their key", &options->elide});
  command.options.push_back({"--te", "",
                             "tensor expressions: of the functions that plugins compile, or of the "
                             "whole model before it is partitioned",
                             &options->te});
  command.options.push_back({"--llvm", "",
                             "the LLVM IR of the compiled functions, by plugins that show it",
                             &options->llvm});
  command.options.push_back({"--asm", "", "the assembly of the same", &options->assembly});
  command.options.push_back(
      {"--work", "",
       "counts of what runs on --threads N do, by plugins that count: the instructions of all "
       "workers, of serial parts, of the busiest worker; parallel loops; the bytes of a worker",
       &options->work});
  command.run = [options, &common] { return run_print(*options, common); };
  return command;
}

}  // namespace byoc::driver
