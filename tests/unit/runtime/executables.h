// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hand-written programs for the tests of the runtime, which link no compiler.
#include <cstring>

#include "byoc/runtime/artifact.h"

namespace byoc::test {

inline std::shared_ptr<const Buffer> floats(std::initializer_list<float> values) {
  return Buffer::copy(std::as_bytes(std::span(values.begin(), values.size())));
}

inline Place in(uint32_t k) { return {Place::kInput, k, 0}; }
inline Place out(uint32_t k) { return {Place::kOutput, k, 0}; }
inline Place constant(uint32_t k) { return {Place::kConstant, k, 0}; }
inline Place arena(uint64_t offset) { return {Place::kArena, 0, offset}; }

/// Returns a step whose arguments all have one type.
inline Step host_step(std::string symbol, uint32_t n_in, std::vector<Place> args,
                      const TensorSpec& type) {
  Step step;
  step.symbol = std::move(symbol);
  step.n_in = n_in;
  step.types.assign(args.size(), type);
  step.args = std::move(args);
  return step;
}

/// Returns y = (x + c) * c, z = y, all f32[4], in two steps `add` and `mul` that the host provides.
inline Executable add_mul() {
  const TensorSpec type{DType::kF32, {4}};
  auto c = floats({1, 2, 3, 4});
  Executable executable;
  executable.producer = "byoc test";
  executable.constants.emplace(c->key(), c);
  Program& program = executable.program;
  program.inputs = {{"x", type}};
  program.outputs = {{"y", type}, {"z", type}};
  program.constants = {{c->key(), type}};
  program.steps = {host_step("add", 2, {in(0), constant(0), arena(64)}, type),
                   host_step("mul", 2, {arena(64), constant(0), out(0)}, type)};
  program.steps[0].locs = {"Add_0"};
  program.copies = {{out(0), 1}};
  program.arena_bytes = 128;
  program.peak_live_bytes = 64;
  return executable;
}

/// Returns add_mul() with modules that use every field of the manifest. No plugin can load them.
inline Executable with_modules() {
  Executable executable = add_mul();
  auto packed = floats({4, 3, 2, 1, 0.5});
  executable.constants.emplace(packed->key(), packed);
  const ProgramConstant& c = executable.program.constants[0];
  ExternalFunction function{.symbol = "add",
                            .n_in = 2,
                            .n_out = 1,
                            .constants = {{"c", c.key, c.type, 2}},
                            .packed = {{packed->key(), 64}},
                            .inplace = {{0, 0}},
                            .workspace_bytes = 100,
                            .workspace_align = 32,
                            .flags = 3,
                            .implementation = "loops \"fast\"",
                            .flops = 0.1,
                            .ops = 7,
                            .locs = {"/conv1", "/relu \"1\""}};
  ExternalModule module{.plugin = "some",
                        .plugin_version = "1.2.3",
                        .compat = "cpu=sse2",
                        .options_json = "{\"verbose\":\"1\"}",
                        .flags = 0,
                        .functions = {function},
                        .blob = Buffer::copy(std::as_bytes(std::span("blob bytes")))};
  executable.modules = {module, module};
  executable.modules[1].functions[0].symbol = "mul";
  executable.program.steps[0].module = 0;
  executable.program.steps[1].module = 1;
  return executable;
}

/// Returns y = relu(relu(x) + 10) + 10 for the plugin of tests/faults/faulty.c,
/// in place in the arena.
inline Executable two_relus() {
  const TensorSpec type{DType::kF32, {4}};
  auto ten = floats({10});
  ExternalFunction relu{.symbol = "faulty_main_0",
                        .n_in = 1,
                        .n_out = 1,
                        .constants = {{"c", ten->key(), {DType::kF32, {1}}, 2}},
                        .inplace = {{0, 0}}};
  ExternalModule module{
      .plugin = "faulty",
      .plugin_version = "1.0.0",
      .compat = "faulty/1",
      .options_json = "{}",
      .functions = {relu, relu},
      .blob = Buffer::copy(std::as_bytes(std::span("faulty_main_0\nfaulty_main_1\n", 28)))};
  module.functions[1].symbol = "faulty_main_1";
  Executable executable;
  executable.producer = "byoc test";
  executable.constants.emplace(ten->key(), ten);
  executable.modules = {module};
  executable.program.inputs = {{"x", type}};
  executable.program.outputs = {{"y", type}};
  executable.program.arena_bytes = 64;
  executable.program.steps = {host_step("faulty_main_0", 1, {in(0), arena(0)}, type),
                              host_step("faulty_main_1", 1, {arena(0), arena(0)}, type)};
  for (uint32_t k = 0; k < 2; ++k) {
    executable.program.steps[k].module = 0;
    executable.program.steps[k].function = k;
    executable.modules[0].functions[k].locs = {cat("Relu_", k)};
  }
  executable.program.copies = {{arena(0), 0}};
  return executable;
}

}  // namespace byoc::test
