// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/one_step.h"

#include <algorithm>
#include <set>

#include "core/measure/sampler.h"
#include "core/tools/replay/device_step.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kAlign = 64;  // of places in the arena

// Moves the outputs of the program into its arena.
void keep_outputs_inside(Program& program) {
  std::vector<Place> places;
  for (const NamedTensor& output : program.outputs) {
    if (!program.sizes.empty()) {  // whose arena has blocks, by the sizes of each run
      if (program.packing.empty()) program.packing.emplace_back();
      const auto block = static_cast<uint32_t>(program.blocks());
      for (std::vector<uint32_t>& order : program.packing) order.push_back(block);
      places.push_back({Place::kArena, block, 0});
      continue;
    }
    program.arena_bytes = (program.arena_bytes + kAlign - 1) / kAlign * kAlign;
    places.push_back({Place::kArena, 0, program.arena_bytes});
    program.arena_bytes += static_cast<uint64_t>(*size_bytes(output.type));  // loaded: checked
  }
  for (Step& step : program.steps) {
    for (Place& place : step.args) {
      if (place.kind == Place::kOutput) place = places[place.index];
    }
  }
  program.outputs.clear();
  program.copies.clear();
  program.states.clear();  // plain inputs
}

// Removes the blocks of the arena that neither a step nor a copy uses.
void drop_unused_blocks(Program& program) {
  constexpr uint32_t kUnused = UINT32_MAX;
  std::vector<uint32_t> now(program.blocks(), kUnused);
  uint32_t used = 0;
  auto renumber = [&](Place& place) {
    if (place.kind != Place::kArena || now.empty()) return;
    if (now[place.index] == kUnused) now[place.index] = used++;
    place.index = now[place.index];
  };
  for (Step& step : program.steps) std::ranges::for_each(step.args, renumber);
  for (Copy& copy : program.copies) renumber(copy.from);
  for (std::vector<uint32_t>& order : program.packing) {
    std::erase_if(order, [&](uint32_t block) { return now[block] == kUnused; });
    for (uint32_t& block : order) block = now[block];
  }
  if (used == 0) program.packing.clear();
}

// Adds an input u8[T] for each size that no input has by itself. The step reads none of them.
void add_sizes(Program& program, const std::vector<OpenSize>& sizes) {
  program.sizes = sizes;
  std::set<std::string> known;
  for (const NamedTensor& input : program.inputs)
    known.insert(input.type.open.begin(), input.type.open.end());
  for (const OpenSize& size : sizes) {
    if (known.contains(size.name)) continue;
    TensorSpec spec{DType::kU8, {size.most}};
    spec.open = {size.name};
    program.inputs.push_back({cat("size ", size.name), std::move(spec)});
  }
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
  drop_unused_blocks(program);
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
  add_sizes(program, executable.program.sizes);
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
