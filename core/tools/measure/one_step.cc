// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/one_step.h"

#include <map>

namespace byoc::driver {
namespace {

/// Identifies the value at a place: kind, offset or index, and whether it has no elements. A value
/// without elements can have the offset of another value.
using Key = std::tuple<Place::Kind, uint64_t, bool>;

Key key(const Step& step, size_t k) {
  const Place& place = step.args[k];
  return {place.kind, place.kind == Place::kArena ? place.offset : place.index,
          num_elements(step.types[k]) == 0};
}

}  // namespace

Result<std::vector<std::vector<Source>>> sources_of_steps(const Program& program) {
  if (!program.code.empty())
    return unimplemented("the program has control flow, so that its steps cannot be run one by one")
        .with_slug("control-flow");
  std::vector<std::vector<Source>> out;
  std::map<Key, uint32_t> now;  // the result that was last written to a place
  uint32_t results = 0;
  for (const Step& step : program.steps) {
    auto& sources = out.emplace_back();
    for (size_t k = 0; k < step.n_in; ++k) {
      const Place& place = step.args[k];
      auto found = now.find(key(step, k));
      if (place.kind == Place::kConstant) sources.push_back({Source::kConstant, place.index});
      else if (place.kind == Place::kInput) sources.push_back({Source::kInput, place.index});
      else if (found != now.end()) sources.push_back({Source::kResult, found->second});
      else
        return invalid(cat("no step writes what argument ", k, " reads"))
            .with_slug("executable")
            .at(step.symbol);
    }
    for (size_t k = step.n_in; k < step.args.size(); ++k) now[key(step, k)] = results++;
  }
  return out;
}

Result<Executable> with_all_results(Executable executable) {
  Program& program = executable.program;
  BYOC_TRY(auto sources, sources_of_steps(program));
  program.outputs.clear();
  program.copies.clear();
  program.arena_bytes = 0;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    Step& step = program.steps[s];
    for (size_t k = 0; k < step.args.size(); ++k) {
      if (k >= step.n_in) {
        auto result = static_cast<uint32_t>(program.outputs.size());
        program.outputs.push_back({cat("v", result), step.types[k]});
        step.args[k] = {Place::kOutput, result, 0};
      } else if (sources[s][k].kind == Source::kResult) {
        step.args[k] = {Place::kOutput, sources[s][k].index, 0};
      }
    }
  }
  return executable;
}

Executable one_step(const Executable& executable, size_t index) {
  Executable out;
  out.producer = executable.producer;
  out.constants = executable.constants;
  Program& program = out.program;
  program.constants = executable.program.constants;
  program.steps = {executable.program.steps[index]};
  Step& step = program.steps[0];
  if (step.module != Step::kHostExtern) {
    out.modules = {executable.modules[step.module]};  // the step uses no other module
    step.module = 0;
  }
  for (size_t k = 0; k < step.args.size(); ++k) {
    if (step.args[k].kind == Place::kConstant) continue;
    bool is_input = k < step.n_in;
    auto& list = is_input ? program.inputs : program.outputs;
    step.args[k] = {is_input ? Place::kInput : Place::kOutput, static_cast<uint32_t>(list.size()),
                    0};
    list.push_back({cat(is_input ? "in" : "out", list.size()), step.types[k]});
  }
  return out;
}

}  // namespace byoc::driver
