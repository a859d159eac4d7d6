// SPDX-License-Identifier: Apache-2.0
// byoc dump: writes regions as folders that byoc replay runs again.
#include "byoc/base/json.h"
#include "byoc/base/version.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/tuning.h"
#include "core/tools/replay/dump_region.h"
#include "core/tools/show/placement.h"
#include "core/tools/verify/verification.h"
#include "runtime/cli/output.h"
#include "runtime/cli/values.h"

namespace byoc::driver {
namespace {

struct DumpFlags {
  ModelOptions model;
  std::string region, output;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
};

Result<RegionValues> values_of(const DumpFlags& options, std::string& reference) {
  BYOC_TRY(IRModule module, load_model(options.model));
  BYOC_TRY(BuildOptions build_with, build_options(options.model));
  BYOC_TRY(reference, reference_plugin(*build_with.plugins));
  BYOC_TRY(auto types, entry_inputs(module));
  BYOC_TRY(auto made, cli::make_inputs(types, options.inputs, options.seed, tensor_readers()));
  std::vector<Tensor> inputs;
  inputs.reserve(made.size());
  for (auto& input : made) inputs.push_back(std::move(input.tensor));
  return RegionValues::compute(with_names(std::move(module)), build_with, reference,
                               std::move(inputs));
}

Result<int> run_dump(const DumpFlags& options, const cli::CommonOptions& common) {
  std::string reference;
  BYOC_TRY(RegionValues values, values_of(options, reference));
  BYOC_TRY(RegionLimits limits, region_limits(values, border_tolerance(values.fused(), -1)));
  std::vector<const RegionCall*> chosen;
  if (!options.region.empty()) {
    BYOC_TRY(const RegionCall* region, values.find(options.region));
    chosen.push_back(region);
  } else {
    for (const RegionCall& region : values.probed().regions) chosen.push_back(&region);
  }
  cli::Table table({"region", "plugin", ">nodes", ">inputs", ">constants", ">outputs", "folder"});
  Json json = {{"model", options.model.model}, {"reference", reference}};
  json["regions"] = Json::array();
  for (const RegionCall* region : chosen) {
    std::string folder =
        options.region.empty() ? cat(options.output, "/", region->function.str()) : options.output;
    BYOC_TRY(ReplayCase replay, replay_case(values, *region, limits));
    replay.model = options.model.model;
    BYOC_TRY_STATUS(write_replay(replay, folder));
    table.add({replay.symbol, replay.plugin, cat(replay.nodes.size()), cat(replay.inputs.size()),
               cat(replay.constants.size()), cat(replay.outputs.size()), folder});
    json["regions"].push_back({{"region", replay.symbol},
                               {"plugin", replay.plugin},
                               {"nodes", replay.nodes},
                               {"folder", folder}});
  }
  cli::print_text(cat(table.text(), "replay: byoc replay ", options.output, "\n"), common);
  BYOC_TRY_STATUS(cli::print_json(common, "dump", json));
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
  all.push_back({"--region", "R", "this one alone, by its symbol or number", &options->region});
  all.push_back({"--input", "NAME=VALUE", "an input, as in byoc run; the others are random",
                 &options->inputs});
  all.push_back({"--seed", "N", "of the random inputs", &options->seed});
  all.push_back({"-o,--output", "DIR", "where the folders go", &options->output, true});
  command.notes =
      "A folder holds graph.json (what crosses the plugin ABI), constants, inputs, the outputs of\n"
      "the reference, and manifest.json (plugin, version, options, the user's nodes).";
  command.run = [options, &common] { return run_dump(*options, common); };
  return command;
}

}  // namespace byoc::driver
