// SPDX-License-Identifier: Apache-2.0
// byoc dump: writes regions as folders that byoc replay runs again.
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/dumped.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct DumpFlags {
  ModelOptions model;
  DumpOptions dump;
};

Result<int> run_dump(const DumpFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(const DumpedModel dumped, dump_regions(options.model, options.dump));
  cli::Table table({"region", "plugin", ">nodes", ">inputs", ">constants", ">outputs", "folder"});
  for (const auto& [folder, replay] : dumped.regions) {
    table.add({replay.symbol, replay.plugin, cat(replay.nodes.size()), cat(replay.inputs.size()),
               cat(replay.constants.size()), cat(replay.outputs.size()), folder});
  }
  cli::print_text(cat(table.text(), "replay: byoc replay ", options.dump.output, "\n"), common);
  BYOC_TRY_STATUS(cli::print_json(common, "dump", json_of(dumped, options.model)));
  return cli::kDone;
}

}  // namespace

cli::Command dump_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<DumpFlags>();
  cli::Command command;
  command.name = "dump";
  command.about = "write regions as folders that byoc replay runs again";
  command.examples = {
      {"byoc dump net.onnx --compiler onednn -o regions", "one folder per region in regions/"},
      {"byoc dump net.onnx --region onednn_main_0 -o r0", "one region; r0 is its folder"},
      {"byoc dump net.onnx --input x=a.npy -o regions", "the values that this input makes"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  auto& all = command.options;
  all.push_back(
      {"--region", "R", "this one alone, by its symbol or number", &options->dump.region});
  all.push_back({"--input", "NAME=VALUE", "an input, as in byoc run; the others are random",
                 &options->dump.inputs});
  all.push_back({"--seed", "N", "of the random inputs", &options->dump.seed});
  all.push_back({"-o,--output", "DIR", "where the folders go", &options->dump.output, true});
  command.notes =
      "A folder holds graph.json (what crosses the plugin ABI), constants, inputs, the outputs of\n"
      "the reference, and manifest.json (plugin, version, options, the user's nodes).";
  command.run = [options, &common] { return run_dump(*options, common); };
  return command;
}

}  // namespace byoc::driver
