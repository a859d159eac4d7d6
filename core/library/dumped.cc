// SPDX-License-Identifier: Apache-2.0
#include "core/library/dumped.h"

#include "byoc/base/json.h"
#include "core/tools/model/bindings.h"
#include "core/tools/replay/dump_region.h"
#include "core/tools/verify/verification.h"
#include "runtime/cli/values.h"

namespace byoc::driver {
namespace {

Result<RegionValues> values_of(const ModelOptions& options, const DumpOptions& with,
                               std::string& reference) {
  BYOC_TRY(IRModule module, load_model(options));
  BYOC_TRY(BuildOptions build_with, build_options(options));
  BYOC_TRY(reference, reference_plugin(*build_with.plugins));
  BYOC_TRY(auto types, entry_inputs(module));
  BYOC_TRY(const auto states, state_inputs(module));
  BYOC_TRY(auto made, cli::make_inputs(types, with_counters_at_zero(states, with.inputs), with.seed,
                                       tensor_readers()));
  std::vector<Tensor> inputs;
  inputs.reserve(made.size());
  for (auto& input : made) inputs.push_back(std::move(input.tensor));
  return RegionValues::compute(with_names(std::move(module)), build_with, reference,
                               std::move(inputs));
}

}  // namespace

Result<DumpedModel> dump_regions(const ModelOptions& options, const DumpOptions& with) {
  DumpedModel out;
  BYOC_TRY(RegionValues values, values_of(options, with, out.reference));
  BYOC_TRY(RegionLimits limits, region_limits(values, border_tolerance(values.fused(), -1)));
  std::vector<const RegionCall*> chosen;
  if (!with.region.empty()) {
    BYOC_TRY(const RegionCall* region, values.find(with.region));
    chosen.push_back(region);
  } else {
    for (const RegionCall& region : values.probed().regions) chosen.push_back(&region);
  }
  for (const RegionCall* region : chosen) {
    std::string folder =
        with.region.empty() ? cat(with.output, "/", region->function.str()) : with.output;
    BYOC_TRY(ReplayCase replay, replay_case(values, *region, limits));
    replay.model = options.model;
    BYOC_TRY_STATUS(write_replay(replay, folder));
    out.regions.push_back({std::move(folder), std::move(replay)});
  }
  return out;
}

nlohmann::ordered_json json_of(const DumpedModel& dumped, const ModelOptions& options) {
  nlohmann::ordered_json json = {{"model", options.model}, {"reference", dumped.reference}};
  json["regions"] = Json::array();
  for (const auto& [folder, replay] : dumped.regions) {
    json["regions"].push_back({{"region", replay.symbol},
                               {"plugin", replay.plugin},
                               {"nodes", replay.nodes},
                               {"folder", folder}});
  }
  return json;
}

}  // namespace byoc::driver
