// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <gtest/gtest.h>

#include "support/paths.h"

namespace byoc::test {
namespace {

constexpr const char* kNames[] = {"relu", "add", "add"};

Tensor shift_of(const TensorSpec& type) {
  Tensor out = *Tensor::make(type);
  auto* data = reinterpret_cast<float*>(out.data());
  for (int64_t k = 0; k < type.dims[0]; ++k) data[k] = k % 2 == 0 ? 0.5f : -0.5f;
  return out;
}

CompileFunction function_of(Op op, const std::string& symbol, const TensorSpec& type) {
  CompileFunction out;
  out.symbol = symbol;
  out.n_in = op == Op::kAdd ? 2 : 1;
  out.n_out = 1;
  std::string constants, second;
  if (op == Op::kShift) {
    const Tensor shift = shift_of(type);
    out.buffers.push_back(Buffer::copy({shift.data(), shift.size_bytes()}));
    out.constants.push_back({"c0", out.buffers[0]->key(), type, BYOC_CONST_KEPT});
    constants = cat(R"({"name":"c0","type":0,"key":")", out.buffers[0]->key(), "\"}");
    second = R"(,["c",0])";
  }
  if (op == Op::kAdd) second = R"(,["i",1])";
  out.graph_json = cat(
      R"({"format":"byoc.graph","version":1,"requires":[],"symbol":")", symbol,
      R"(","types":[{"dtype":"f32","shape":[)", type.dims[0],
      R"(]}],"inputs":[{"name":"i0","type":0})", op == Op::kAdd ? R"(,{"name":"i1","type":0})" : "",
      R"(],"constants":[)", constants, R"(],"nodes":[{"op":")", kNames[static_cast<size_t>(op)],
      R"(","version":1,"args":[["i",0])", second, R"(],"types":[0]}],"outputs":[["n",0,0]]})");
  return out;
}

}  // namespace

std::shared_ptr<const PluginSet> device_plugins(std::map<std::string, std::string> options) {
  const std::string wrapped = cat(BYOC_BUILD_DIR, "/tests/unit/devices/libbyoc_example_for_sim.so");
  PluginSearch search;
  search.files = {cat(BYOC_BUILD_DIR, "/tests/sim/libbyoc_sim.so"), wrapped};
  options.emplace("wraps", wrapped);
  search.options["sim"] = std::move(options);
  auto plugins = PluginSet::load(search);
  for (const RefusedPlugin& refused : plugins->refused())
    ADD_FAILURE() << refused.path << ": " << refused.reason;
  return plugins;
}

std::pair<const std::string, std::string> counted_in(sim::Counts& counts) {
  return {"counts", std::to_string(reinterpret_cast<uintptr_t>(&counts))};
}

Programs::Programs(const std::shared_ptr<const PluginSet>& plugins, int64_t elements)
    : type_{DType::kF32, {elements}} {
  add_module(*plugins->find("sim"));
  add_module(*plugins->find("example"));
  executable.program.devices.push_back({"sim", kDLExtDev, 0, 0});
  executable.producer = "test";
}

void Programs::add_module(const Plugin& plugin) {
  std::vector<CompileFunction> functions;
  for (Op op : {Op::kRelu, Op::kAdd, Op::kShift})
    functions.push_back(function_of(op, cat(plugin.id(), "_", static_cast<uint32_t>(op)), type_));
  CompileResult result = plugin.compile(functions, "{}", 1, 0);
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  executable.modules.push_back(std::move(result.module));
  for (const auto& buffer : functions.back().buffers) executable.constants[buffer->key()] = buffer;
}

Place Programs::next(Place::Kind kind, uint64_t& bytes, uint64_t align) const {
  const Place out{kind, 0, bytes};
  bytes += (static_cast<uint64_t>(*size_bytes(type_)) + align - 1) / align * align;
  return out;
}

Place Programs::input() {
  auto& inputs = executable.program.inputs;
  inputs.push_back({cat("x", inputs.size()), type_});
  return {Place::kInput, static_cast<uint32_t>(inputs.size() - 1), 0};
}
Place Programs::output() {
  auto& outputs = executable.program.outputs;
  outputs.push_back({cat("y", outputs.size()), type_});
  return {Place::kOutput, static_cast<uint32_t>(outputs.size() - 1), 0};
}
Place Programs::on_host() { return next(Place::kArena, executable.program.arena_bytes, 64); }
Place Programs::on_device() {
  return next(Place::kDevice, executable.program.devices[0].arena_bytes, 256);
}

void Programs::run(std::string_view plugin, Op op, std::vector<Place> args) {
  Step step;
  step.module = plugin == "sim" ? 0 : 1;
  step.function = static_cast<uint32_t>(op);
  step.symbol = executable.modules[step.module].functions[step.function].symbol;
  step.n_in = static_cast<uint32_t>(args.size() - 1);
  step.types.assign(args.size(), type_);
  step.args = std::move(args);
  executable.program.steps.push_back(std::move(step));
}

void Programs::copy(Place from, Place to) {
  Step step;
  step.module = Step::kDeviceCopy;
  step.symbol = to.kind == Place::kDevice ? "copy_to_device" : "copy_to_host";
  step.n_in = 1;
  step.types = {type_, type_};
  step.args = {from, to};
  executable.program.steps.push_back(std::move(step));
}

Loaded::Loaded(Executable executable, const std::shared_ptr<const PluginSet>& plugins,
               const SessionOptions& options) {
  auto loaded = Session::load(std::move(executable), plugins, options);
  status = loaded.status();
  if (!loaded.ok()) return;
  session = *std::move(loaded);
  for (const NamedTensor& input : session->inputs()) inputs.push_back(*Tensor::make(input.type));
  for (const NamedTensor& output : session->outputs())
    outputs.push_back(*Tensor::make(output.type));
  auto made = session->make_context();
  status = made.status();
  if (made.ok()) context = *std::move(made);
}

Status Loaded::run(uint64_t seed) {
  std::vector<DLTensor> in, out;
  for (Tensor& tensor : inputs) {
    fill_random(tensor, seed++);
    in.push_back(tensor.view());
  }
  for (const Tensor& tensor : outputs) out.push_back(tensor.view());
  return session->run(*context, in, out);
}

std::vector<float> elements(const Tensor& tensor) {
  const auto* data = reinterpret_cast<const float*>(tensor.data());
  return {data, data + tensor.size_bytes() / sizeof(float)};
}

}  // namespace byoc::test
