// SPDX-License-Identifier: Apache-2.0
// byoc compile: compiles a model into one file that runs without compiler, ONNX or protobuf.
#include <chrono>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tools/show/placement.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct Options {
  ModelOptions model;
  std::string output;
};

std::string modules_text(const Executable& executable) {
  cli::Table table({"plugin", "version", ">functions", ">ops", ">flops", ">code"});
  for (const ExternalModule& module : executable.modules) {
    double flops = 0;
    uint64_t ops = 0;
    for (const ExternalFunction& function : module.functions) {
      flops += function.flops;
      ops += function.ops;
    }
    table.add({module.plugin, module.plugin_version, cat(module.functions.size()), cat(ops),
               flops_text(flops), cli::format_mib(module.blob ? module.blob->size() : 0)});
  }
  return table.text();
}

Json fields(const Executable& executable, const std::string& output, double compile_ns) {
  uint64_t constants = 0;
  for (const auto& [key, buffer] : executable.constants) constants += buffer->size();
  Json modules = Json::array();
  for (const ExternalModule& module : executable.modules) {
    modules.push_back({{"plugin", module.plugin},
                       {"version", module.plugin_version},
                       {"functions", module.functions.size()}});
  }
  return {{"output", output},
          {"compile_ns", compile_ns},
          {"steps", executable.program.steps.size()},
          {"arena_bytes", executable.program.arena_bytes},
          {"constant_bytes", constants},
          {"modules", modules}};
}

void warn_declined(const Report& report, const cli::CommonOptions& common) {
  for (const Report::Remark& remark : report.remarks) {
    if (remark.kind != Report::Remark::kDeclined) continue;
    cli::print_warning(
        cat(remark.plugin, " took ", remark.op, " and declined it in compile: ", remark.reason),
        common);
  }
}

Result<Executable> build_shown(IRModule module, const BuildOptions& options,
                               const cli::CommonOptions& common) {
  CompileProgress progress(user_cancellation(), common);
  return build(std::move(module), options);
}

/// Writes the artifact. An interruption leaves the complete new file or changes nothing.
Status save(const Executable& executable, const std::string& path) {
  Cancellation::Scope finishes_first(&user_cancellation());
  BYOC_TRY_STATUS(save_artifact(executable, path));
  if (!user_cancellation().is_cancelled()) return {};
  return Status(Code::kCancelled, cat("interrupted after ", path, " was written"))
      .with_slug("interrupted");
}

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(IRModule module, load_model(options.model));
  BYOC_TRY(BuildOptions build_with, build_options(options.model, common));
  Report report;
  build_with.report = &report;
  auto begin = std::chrono::steady_clock::now();
  build_with.compile_only = true;
  BYOC_TRY(Executable executable, build_shown(std::move(module), build_with, common));
  double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  BYOC_TRY_STATUS(save(executable, options.output));
  warn_declined(report, common);
  Json json = fields(executable, options.output, ns);
  cli::print_text(
      cat(modules_text(executable), "wrote ", options.output, ": ", executable.program.steps.size(),
          " steps, ", cli::format_mib(json["constant_bytes"].get<uint64_t>()), " constants, ",
          cli::format_mib(executable.program.arena_bytes), " arena; compiled in ",
          cli::format_time(ns), "\n"),
      common);
  BYOC_TRY_STATUS(cli::print_json(common, "compile", json));
  return cli::kDone;
}

}  // namespace

cli::Command compile_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "compile";
  command.about = "compile a model into one file";
  command.examples = {{"byoc compile net.onnx -o net.byoc", "with every usable plugin"},
                      {"byoc compile net.onnx --compiler onednn --shape N=1 -o net.byoc",
                       "onednn, then the default codegen"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options.push_back(
      {"-o,--output", "FILE", "the artifact, model.byoc", &options->output, true});
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
