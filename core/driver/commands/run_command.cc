// SPDX-License-Identifier: Apache-2.0
// byoc run: compiles a model if necessary, runs it once, and shows and writes the outputs.
#include "byoc/base/json.h"
#include "byoc/runtime/session.h"
#include "core/driver/commands/commands.h"
#include "core/import/onnx/file/tensor_file.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/runnable.h"
#include "core/tools/model/tuning.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/output.h"
#include "runtime/cli/run.h"

namespace byoc::driver {
namespace {

struct Options {
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

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(cli::OutputFormat format, output_format(options.format));
  BYOC_TRY(std::string path, model_path(options.model.model));
  ModelOptions model = options.model;
  BYOC_TRY(AssumedSizes sizes, set_open_sizes(model, options.run.inputs));
  cli::print_text(assumed_text(sizes), common);
  BYOC_TRY(Runnable runnable, make_runnable(model, path, options.run.inputs, hooks_for(common)));
  cli::print_text(cli::size_text(runnable.size), common);
  SessionOptions session_options{.threads = options.model[option::kThreads],
                                 .allow_native = !options.no_native,
                                 .cancel = &user_cancellation()};
  BYOC_TRY(auto session,
           Session::load(std::move(runnable.executable), runnable.plugins, session_options));
  BYOC_TRY_STATUS(session->check_externs());
  cli::print_text(tuning_text(options.model), common);
  Json more = Json::object();
  add_tuning_json(options.model, more);
  add_assumed_json(sizes, more);
  cli::add_size_json(runnable.size, more);
  BYOC_TRY_STATUS(
      cli::run_session(*session, path, options.run, common, tensor_readers(), format, &more));
  return cli::kDone;
}

}  // namespace

cli::Command run_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
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
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
