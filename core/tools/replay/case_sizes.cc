// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/case_sizes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "byoc/ir/dim.h"
#include "byoc/ir/visit.h"
#include "core/tools/replay/device_step.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/replay/run_replay.h"

namespace byoc::driver {
namespace {

constexpr int64_t kUsualSize = 128;
constexpr double kMostElements = 1 << 22;

Result<Dim> dim_at(Dim dim, const SizeNumbers& numbers) {
  if (!is_open(dim)) return dim;
  return with_sizes(dim, [&](Dim size) -> std::optional<Dim> {
    const auto found = numbers.find(size.name().str());
    return found == numbers.end() ? std::nullopt : std::optional(Dim(found->second));
  });
}

// Returns the open sizes of the functions that the entry calls, by name.
std::map<Symbol, Dim> sizes_of_calls(const IRModule& module, const Function& entry) {
  std::map<Symbol, Dim> out;
  for (const Node& node : entry.nodes) {
    const auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr) continue;
    for (Dim size : open_sizes(module, module.function(invoke->function)))
      out.emplace(size.name(), size);
  }
  return out;
}

// Adds the sizes of a case to its program, each with an input that has it.
void add_sizes(const ReplayCase& replay, const IRModule& module, Program& program) {
  for (Dim size : open_sizes(module, module.function(module.entry))) {
    const std::string name = size.name().str();
    if (!replay.sizes.contains(name)) continue;
    TensorSpec spec{DType::kU8, {size.max()}};
    spec.open = {name};
    program.inputs.push_back({cat("size ", name), std::move(spec)});
    program.sizes.push_back({name, size.min(), size.max()});
  }
}

}  // namespace

double elements_at(const IRModule& module, const SizeNumbers& numbers) {
  auto number = [&](Dim size) -> std::optional<Dim> {
    const auto found = numbers.find(size.name().str());
    return Dim(found == numbers.end() ? size.min() : found->second);
  };
  double sum = 0;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      for (size_t k = 0; k < node.types.size(); ++k) {
        double count = 1;
        for (Dim dim : node.types[k]->shape) {
          Result<Dim> extent = is_open(dim) ? with_sizes(dim, number) : Result<Dim>(dim);
          if (!extent.ok()) return INFINITY;
          count *= static_cast<double>(extent->max());
        }
        sum += count;
      }
    }
  }
  return sum;
}

SizeNumbers usual_sizes(const IRModule& graph) {
  const std::vector<OpenSize> sizes = entry_sizes(graph);
  SizeNumbers out;
  for (const OpenSize& size : sizes)
    out[size.name] = std::clamp<int64_t>(kUsualSize, size.least, size.most);
  auto room = [&](const OpenSize& size) { return out[size.name] - size.least; };
  while (!sizes.empty() && elements_at(graph, out) > kMostElements) {
    const OpenSize& greatest = *std::ranges::max_element(sizes, {}, room);
    if (room(greatest) == 0) break;  // all are at their least
    out[greatest.name] = std::max(greatest.least, out[greatest.name] / 2);
  }
  return out;
}

Result<TensorSpec> spec_at(TypeId type, const SizeNumbers& numbers) {
  TensorType out = *type;
  for (Dim& dim : out.shape) {
    BYOC_TRY(dim, dim_at(dim, numbers));
  }
  return program_type(out);
}

Status give_sizes(IRModule& module, const SizeNumbers& numbers, std::vector<Tensor>& inputs) {
  const Function& entry = module.function(module.entry);
  std::map<Symbol, Dim> added = sizes_of_calls(module, entry);
  for (uint32_t k = 0; k < entry.num_params(); ++k) {
    for (Dim dim : entry.nodes[k].types[0]->shape) {
      if (is_open(dim) && !dim.is_expression()) added.erase(dim.name());
    }
  }
  Rewriter rewriter(entry);
  const auto params = static_cast<uint32_t>(entry.num_params());
  for (uint32_t k = 0; k < params; ++k) rewriter.copy(k);
  for (const auto& [name, size] : added) {
    BYOC_TRY(Tensor rows, Tensor::make({DType::kU8, {numbers.at(name.str())}}));
    inputs.push_back(std::move(rows));
    rewriter.to().add_param(cat("size ", name), TensorType{DType::kU8, {size}});
  }
  for (uint32_t k = params; k < entry.nodes.size(); ++k) rewriter.copy(k);
  Function function = std::move(rewriter).finish();
  if (!added.empty()) module.functions[module.entry] = std::move(function);
  return {};
}

Result<Executable> program_of(const ReplayCase& replay, CompileResult compiled) {
  BYOC_TRY(const IRModule module, module_of(replay));
  const Function& function = module.function(module.entry);
  Executable out;
  Step step{.module = 0, .symbol = replay.symbol};
  auto add = [&](Place::Kind kind, const std::vector<TypeId>& types,
                 const std::vector<ReplayTensor>& from, auto& to) -> Status {
    for (size_t k = 0; k < from.size(); ++k) {
      TensorSpec spec = from[k].tensor.spec();
      if (!replay.sizes.empty()) {
        BYOC_TRY(spec, program_type(*types.at(k)));
      }
      step.args.push_back({kind, static_cast<uint32_t>(to.size()), 0});
      step.types.push_back(spec);
      to.push_back({from[k].name, std::move(spec)});
    }
    return {};
  };
  std::vector<TypeId> params;
  for (size_t k = 0; k < function.num_params(); ++k) params.push_back(function.nodes[k].types[0]);
  BYOC_TRY_STATUS(add(Place::kInput, params, replay.inputs, out.program.inputs));
  step.n_in = static_cast<uint32_t>(step.args.size());
  BYOC_TRY_STATUS(
      add(Place::kOutput, function.result_types(), replay.outputs, out.program.outputs));
  add_sizes(replay, module, out.program);
  out.program.steps = {std::move(step)};
  for (const auto& buffer : replay.buffers) out.constants.emplace(buffer->key(), buffer);
  for (const auto& packed : compiled.packed) out.constants.emplace(packed->key(), packed);
  ExternalFunction& kernel = compiled.module.functions[0];
  kernel.locs = replay.nodes;
  for (Dim size : open_sizes(module, function)) kernel.sizes.push_back(size.name().str());
  out.modules = {std::move(compiled.module)};
  put_on_device(out.modules[0], out.program);
  return out;
}

Result<std::vector<Tensor>> inputs_for(const ReplayCase& replay, const Program& program) {
  std::vector<Tensor> out;
  for (const ReplayTensor& input : replay.inputs) {
    BYOC_TRY(Tensor copy, input.tensor.copy());
    out.push_back(std::move(copy));
  }
  for (const OpenSize& size : program.sizes) {
    BYOC_TRY(Tensor rows, Tensor::make({DType::kU8, {replay.sizes.at(size.name)}}));
    out.push_back(std::move(rows));
  }
  return out;
}

}  // namespace byoc::driver
