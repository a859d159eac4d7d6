// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/artifact_of_point.h"

#include "byoc/compile.h"
#include "core/tools/model/execute.h"
#include "core/tools/replay/run_replay.h"

namespace byoc::tune {
namespace {

using driver::ReplayCase;
using driver::ReplayTensor;

/// Returns a program whose one step runs the one function of `compiled`.
Executable program_of(const ReplayCase& replay, CompileResult compiled) {
  Executable out;
  Step step{.module = 0, .symbol = replay.symbol};
  auto add = [&](Place::Kind kind, const std::vector<ReplayTensor>& from, auto& to) {
    for (const ReplayTensor& stored : from) {
      step.args.push_back({kind, static_cast<uint32_t>(to.size()), 0});
      step.types.push_back(stored.tensor.spec());
      to.push_back({stored.name, stored.tensor.spec()});
    }
  };
  add(Place::kInput, replay.inputs, out.program.inputs);
  step.n_in = static_cast<uint32_t>(step.args.size());
  add(Place::kOutput, replay.outputs, out.program.outputs);
  out.program.steps = {std::move(step)};
  for (const auto& buffer : replay.buffers) out.constants.emplace(buffer->key(), buffer);
  for (const auto& packed : compiled.packed) out.constants.emplace(packed->key(), packed);
  out.modules = {std::move(compiled.module)};
  return out;
}

}  // namespace

Status compute_outputs(ReplayCase& replay, const std::string& reference,
                       const std::shared_ptr<const PluginSet>& plugins) {
  BYOC_TRY(const Plugin* plugin, plugins->get(reference));
  BYOC_TRY(driver::ReplayProgram program, driver::compile_replay(replay, *plugin, plugins));
  if (!program.executable)
    return failed(cat(reference, " cannot compute the right outputs: ", program.facts.declined));
  std::vector<Tensor> inputs;
  for (const ReplayTensor& input : replay.inputs) {
    BYOC_TRY(Tensor copy, input.tensor.copy());
    inputs.push_back(std::move(copy));
  }
  BYOC_TRY(auto outputs, driver::execute(*std::move(program.executable), plugins, 1, inputs));
  for (size_t k = 0; k < outputs.size(); ++k) replay.outputs[k].tensor = std::move(outputs[k]);
  return {};
}

Result<Executable> executable_of_point(const ReplayCase& replay, const Point& point, uint32_t flags,
                                       const PluginSet& plugins) {
  BYOC_TRY(const Plugin* plugin, plugins.get(replay.plugin));
  CompileFunction function{replay.symbol,
                           replay.graph_json,
                           replay.constants,
                           replay.buffers,
                           static_cast<uint32_t>(replay.inputs.size()),
                           static_cast<uint32_t>(replay.outputs.size()),
                           print(point)};
  CompileResult compiled =
      plugin->compile({&function, 1}, replay.target_json, replay.threads, flags);
  BYOC_TRY_STATUS(std::move(compiled.status));
  return program_of(replay, std::move(compiled));
}

}  // namespace byoc::tune
