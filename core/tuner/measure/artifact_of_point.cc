// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/artifact_of_point.h"

#include "byoc/compile.h"
#include "core/tools/model/execute.h"
#include "core/tools/replay/case_sizes.h"
#include "core/tools/replay/run_replay.h"

namespace byoc::tune {

using driver::ReplayCase;

Status compute_outputs(ReplayCase& replay, const std::string& reference,
                       const std::shared_ptr<const PluginSet>& plugins) {
  BYOC_TRY(const Plugin* plugin, plugins->get(reference));
  BYOC_TRY(driver::ReplayProgram program, driver::compile_replay(replay, *plugin, plugins));
  if (!program.executable)
    return failed(cat(reference, " cannot compute the right outputs: ", program.facts.declined));
  BYOC_TRY(auto inputs, driver::inputs_for(replay, program.executable->program));
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
  return driver::program_of(replay, std::move(compiled));
}

}  // namespace byoc::tune
