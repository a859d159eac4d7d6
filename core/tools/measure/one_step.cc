// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/one_step.h"

#include "core/measure/sampler.h"
#include "core/tools/replay/device_step.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kAlign = 64;  // of places in the arena

// Moves the outputs of the program into its arena.
void keep_outputs_inside(Program& program) {
  std::vector<uint64_t> offsets;
  for (const NamedTensor& output : program.outputs) {
    program.arena_bytes = (program.arena_bytes + kAlign - 1) / kAlign * kAlign;
    offsets.push_back(program.arena_bytes);
    program.arena_bytes += static_cast<uint64_t>(*size_bytes(output.type));  // loaded: checked
  }
  for (Step& step : program.steps) {
    for (Place& place : step.args) {
      if (place.kind == Place::kOutput) place = {Place::kArena, 0, offsets[place.index]};
    }
  }
  program.outputs.clear();
  program.copies.clear();
  program.states.clear();  // plain inputs
}

double bytes_of(const TensorSpec& type) {
  const auto bytes = size_bytes(type);
  return bytes.ok() ? static_cast<double>(*bytes) : 0;
}

}  // namespace

Result<Executable> inputs_of_step(Executable executable, size_t index) {
  Program& program = executable.program;
  if (!program.code.empty())
    return unimplemented("the program has control flow, so that its steps cannot be run one by one")
        .with_slug("control-flow");
  if (!program.devices.empty())
    return unimplemented(
               "the program has values on a device, so that its steps cannot be run one "
               "by one")
        .with_slug("device-steps");
  keep_outputs_inside(program);
  const Step step = program.steps[index];
  program.steps.resize(index);
  for (size_t k = 0; k < step.n_in; ++k) {
    if (step.args[k].kind == Place::kConstant) continue;
    const auto output = static_cast<uint32_t>(program.outputs.size());
    program.outputs.push_back({cat("in", output), step.types[k]});
    program.copies.push_back({step.args[k], output});
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
  if (step.is_compiled()) {
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
  if (!out.modules.empty()) put_on_device(out.modules[0], program);
  return out;
}

bool is_bound_by_weights(const Executable& executable, const Step& step) {
  if (!step.is_compiled()) return false;
  const ExternalFunction& function = executable.modules[step.module].functions[step.function];
  double weights = 0, bytes = 0;
  for (const ExternalConstant& constant : function.constants) weights += bytes_of(constant.type);
  for (const TensorSpec& type : step.types) bytes += bytes_of(type);
  return measure::is_bound_by_weights(function.flops, bytes + weights, weights);
}

}  // namespace byoc::driver
