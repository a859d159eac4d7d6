// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/memory_json.h"

#include "byoc/base/json.h"
#include "core/tools/measure/one_step.h"

namespace byoc::driver {
namespace {

uint64_t bytes_of(const TensorSpec& type) {
  Result<int64_t> size = size_bytes(type);
  return size.ok() ? static_cast<uint64_t>(*size) : 0;
}

/// Returns per result of the steps the last step that reads it, or the step that writes it.
Result<std::vector<size_t>> last_steps(const Program& program) {
  BYOC_TRY(auto sources, sources_of_steps(program));
  std::vector<size_t> last;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (const Source& source : sources[s])
      if (source.kind == Source::kResult) last[source.index] = s;
    last.insert(last.end(), step.args.size() - step.n_in, s);
  }
  return last;
}

}  // namespace

Result<Json> memory_json(const Program& program) {
  // A loop reads and writes values many times: they have no first and last step.
  const bool has_lifetimes = program.code.empty();
  std::vector<size_t> last;
  if (has_lifetimes) {
    BYOC_TRY(last, last_steps(program));
  }
  Json values = Json::array();
  size_t result = 0;
  for (size_t s = 0; has_lifetimes && s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (size_t k = step.n_in; k < step.args.size(); ++k, ++result) {
      if (step.args[k].kind != Place::kArena) continue;
      values.push_back({{"region", step.symbol},
                        {"type", cat(step.types[k])},
                        {"offset", step.args[k].offset},
                        {"bytes", bytes_of(step.types[k])},
                        {"first", s},
                        {"last", last[result]}});
    }
  }
  return Json{{"arena_bytes", program.arena_bytes},
              {"peak_live_bytes", program.peak_live_bytes},
              {"steps", program.steps.size()},
              {"values", values}};
}

Json steps_json(const Executable& executable) {
  Json out = Json::array();
  for (const Step& step : executable.program.steps) {
    Json inputs = Json::array(), outputs = Json::array();
    for (size_t k = 0; k < step.types.size(); ++k)
      (k < step.n_in ? inputs : outputs).push_back(cat(step.types[k]));
    Json json = {{"region", step.symbol}, {"inputs", inputs}, {"outputs", outputs}};
    if (step.module != Step::kHostExtern) {
      const ExternalModule& module = executable.modules[step.module];
      json["workspace_bytes"] = module.functions[step.function].workspace_bytes;
    }
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace byoc::driver
