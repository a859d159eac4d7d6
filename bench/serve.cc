// SPDX-License-Identifier: Apache-2.0
// Keeps a model loaded and runs it on command, so that a script can measure it in turns with
// another program (peers/compare.py). One command per line on stdin, one line of JSON for each on
// stdout: `run N` runs N times after one that is not counted, and gives the times in nanoseconds;
// `outputs DIR` writes the outputs of the last run as DIR/0.npy, DIR/1.npy, ...; the end of stdin
// ends the program.
#include <iostream>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/runnable.h"
#include "core/tools/model/tuning.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/values.h"
#include "runtime/threads/wait_policy.h"

namespace byoc::bench {
namespace {

struct Options {
  driver::ModelOptions model;
  std::vector<std::string> inputs;
};

void answer(const Json& json) { std::cout << json.dump() << std::endl; }

Status run_turn(measure::TimedSession& timed, uint64_t count) {
  Json times = Json::array();
  BYOC_TRY_STATUS(timed.run());
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t begin_ns = now_ns();
    BYOC_TRY_STATUS(timed.run());
    times.push_back(now_ns() - begin_ns);
  }
  answer({{"ns", std::move(times)}});
  return {};
}

Status write_outputs(const measure::TimedSession& timed, const std::string& folder) {
  for (size_t k = 0; k < timed.outputs().size(); ++k) {
    const Tensor& output = timed.outputs()[k];
    BYOC_TRY_STATUS(write_npy(output.view(), output.spec().dtype, cat(folder, "/", k, ".npy")));
  }
  answer({{"outputs", timed.outputs().size()}});
  return {};
}

Status obey(measure::TimedSession& timed) {
  std::string word;
  while (std::cin >> word) {
    uint64_t count = 0;
    std::string folder;
    if (word == "run" && std::cin >> count) {
      BYOC_TRY_STATUS(run_turn(timed, count));
    } else if (word == "outputs" && std::cin >> folder) {
      BYOC_TRY_STATUS(write_outputs(timed, folder));
    } else {
      return invalid(cat("commands are `run N` and `outputs DIR`, got \"", word, "\""));
    }
  }
  return {};
}

Result<int> serve(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(std::string path, driver::model_path(options.model.model));
  driver::ModelOptions model = options.model;
  BYOC_TRY_STATUS(driver::set_open_sizes(model, options.inputs).status());
  BYOC_TRY(driver::Runnable runnable,
           driver::make_runnable(model, path, options.inputs, driver::hooks_for(common)));
  BYOC_TRY(auto session, Session::load(std::move(runnable.executable), runnable.plugins,
                                       {.threads = options.model[option::kThreads]}));
  BYOC_TRY(auto named,
           cli::make_inputs(session->inputs(), options.inputs, 0, driver::tensor_readers()));
  std::vector<Tensor> inputs;
  for (auto& input : named) inputs.push_back(std::move(input.tensor));
  BYOC_TRY(auto timed, measure::TimedSession::make(std::move(session), inputs));
  answer({{"ready", true}});
  BYOC_TRY_STATUS(obey(*timed));
  return cli::kDone;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  byoc::sleep_beside_others(argv);
  byoc::bench::Options options;
  byoc::cli::CommonOptions common;
  byoc::cli::Command root{.name = "bench_serve", .about = "run a model once per command on stdin"};
  root.examples = {{"echo run 5 | bench_serve net.onnx --compiler onednn", "five times"}};
  byoc::driver::add_model_options(root, options.model, "an .onnx, .ir or .byoc file");
  byoc::driver::add_tuning_options(root, options.model);
  root.options.push_back({"--input", "NAME=VALUE", "as in byoc run", &options.inputs});
  byoc::cli::add_common_options(root, common);
  root.run = [&] { return byoc::bench::serve(options, common); };
  return byoc::cli::run_command_line(root, common, argc, argv);
}
