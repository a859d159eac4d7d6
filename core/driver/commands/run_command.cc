// SPDX-License-Identifier: Apache-2.0
// byoc run: compiles a model if necessary, runs it once, and shows and writes the outputs.
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/import/onnx/file/tensor_file.h"
#include "core/library/profiled.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/output.h"
#include "runtime/cli/run.h"

namespace byoc::driver {
namespace {

struct RunCommandFlags {
  ModelOptions model;
  cli::RunFlags run;
  std::string format = "npy";
  bool no_native = false;
};

Result<cli::OutputFormat> output_format(const std::string& name) {
  if (name == "npy") return cli::npy_format();
  if (name == "pb") {
    return cli::OutputFormat{
        ".pb", [](const NamedTensor& output, const Tensor& tensor, const std::string& path) {
          return write_pb(tensor, output.name, path);
        }};
  }
  return cli::usage_error(cat("--output-format is npy or pb, not \"", name, "\""));
}

Result<int> run_model(const RunCommandFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(cli::OutputFormat format, output_format(options.format));
  ReadyHooks hooks{hooks_for(common), [&](const AssumedSizes& sizes) {
                     cli::print_text(assumed_text(sizes), common);
                   }};
  BYOC_TRY(const ReadyModel ready,
           ready_file(options.model, options.run.inputs, !options.no_native, hooks));
  cli::print_text(cat(cli::size_text(ready.size), tuning_text(options.model)), common);
  const Json more = json_of(ready, options.model);
  cli::RunFlags flags = options.run;
  flags.inputs = ready.inputs;
  BYOC_TRY_STATUS(
      cli::run_session(*ready.session, ready.path, flags, common, tensor_readers(), format, &more));
  return cli::kDone;
}

}  // namespace

cli::Command run_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<RunCommandFlags>();
  cli::Command command;
  command.name = "run";
  command.about = "run a model once and show or write its outputs";
  command.examples = {
      {"byoc run net.onnx --input image=cat.npy --output-dir out",
       "outputs as .npy files and outputs.json"},
      {"byoc run net.onnx --shape N=1 --compiler onednn --profile", "random inputs, time per step"},
      {"byoc run net.byoc --input x=f32[1,8]=0.5", "a compiled model"}};
  add_model_options(command, options->model, "an .onnx, .ir or .byoc file");
  add_tuning_options(command, options->model);
  cli::add_run_options(command, options->run);
  command.options.push_back({"--output-format", "FORMAT", "npy or pb", &options->format});
  command.options.push_back(
      {"--no-native", "", "refuse native code in an artifact", &options->no_native});
  command.run = [options, &common] { return run_model(*options, common); };
  return command;
}

}  // namespace byoc::driver
