// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <cstring>

#include "byoc/base/file.h"
#include "byoc/base/version.h"
#include "byoc/text/text.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::fuzz {
namespace {

Result<std::vector<Tensor>> right_outputs(const Case& graph) {
  BYOC_TRY(std::vector<Known> known, evaluate_case(graph, kOracleSeed));
  std::vector<Tensor> out;
  for (const Known& value : known) {
    BYOC_TRY(Tensor tensor, Tensor::make({value.type->dtype, static_extents(value.type->shape)}));
    if (tensor.size_bytes() > 0)
      std::memcpy(tensor.data(), value.right->data(), tensor.size_bytes());
    out.push_back(std::move(tensor));
  }
  return out;
}

std::string text_of(const Fault& fault, const Case& reduced, const std::string& folder) {
  const char* option = must_keep_nan(reduced) ? " --plugin-option onednn.keep_nan=1" : "";
  const char* sums = must_sum_directly(reduced) ? " --exact-sums" : "";
  return cat(kind_name(fault.outcome.kind), " by ", flags_of(fault.configuration), "\n",
             fault.outcome.what, "\n\nthe graph of the seed:\n  ", command_of(fault),
             "\nthe reduced graph:\n  byoc replay ", folder, " --plugin ",
             fault.configuration.compilers[0], option, "\n  byoc verify ", folder, "/model.ir ",
             flags_of(fault.configuration), option, sums, plugin_option_flags(), "\n");
}

}  // namespace

std::string command_of(const Fault& fault) {
  return cat("byoc_fuzz --seed ", fault.seed, " --count 1 --style ", fault.style, " ",
             flags_of(fault.configuration), plugin_option_flags());
}

std::string ops_of(const Case& graph) {
  std::string out;
  for (const Step& step : graph.steps) out += cat(out.empty() ? "" : " ", step.op->name);
  return out;
}

Status write_fault(const Fault& fault, const Case& reduced, const std::string& folder) {
  IRModule module = to_module(reduced);
  driver::ReplayCase replay;
  driver::set_function(replay, module, "main");
  replay.producer = cat("byoc ", version());
  replay.model = command_of(fault);
  replay.plugin = replay.reference = "json";
  replay.plugin_version = version();
  replay.threads = fault.configuration.threads;
  BYOC_TRY(std::vector<Tensor> inputs, inputs_of(reduced));
  BYOC_TRY(std::vector<Tensor> outputs, right_outputs(reduced));
  size_t input = 0;
  for (const Leaf& leaf : reduced.leaves) {
    if (!leaf.is_constant) replay.inputs.push_back({leaf.name, std::move(inputs[input++])});
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    replay.outputs.push_back({cat("output", k), std::move(outputs[k])});
  BYOC_TRY_STATUS(driver::write_replay(replay, folder));
  BYOC_TRY_STATUS(write_module(module, folder + "/model.ir"));
  return write_file(folder + "/fault.txt", text_of(fault, reduced, folder));
}

}  // namespace byoc::fuzz
