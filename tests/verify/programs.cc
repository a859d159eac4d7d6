// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <gtest/gtest.h>

#include <cstring>

#include "byoc/pass/bind.h"

namespace byoc::test {

IRModule with_constants(const std::string& text) {
  IRModule module = parse(text);
  std::map<std::string, BoundTensor> values;
  const Function& main = module.function("main");
  for (uint32_t k = 0; k < main.num_params(); ++k) {
    std::string name = std::get<Param>(main.nodes[k].kind).name.str();
    if (name[0] != 'w') continue;
    Tensor tensor = *Tensor::make(
        {main.nodes[k].types[0]->dtype, static_extents(main.nodes[k].types[0]->shape)});
    fill_random(tensor, 100 + k);
    values[name] = {*main.nodes[k].types[0], Buffer::copy({tensor.data(), tensor.size_bytes()})};
  }
  Result<IRModule> bound = bind_params(module, values, PassContext());
  EXPECT_TRUE(bound.ok()) << bound.status().to_string();
  return bound.ok() ? *std::move(bound) : IRModule();
}

uint64_t ops_of(const Executable& executable, const std::string& plugin) {
  uint64_t ops = 0;
  for (const Step& step : executable.program.steps) {
    if (step.module == Step::kHostExtern) continue;
    const ExternalModule& module = executable.modules[step.module];
    if (module.plugin == plugin) ops += module.functions[step.function].ops;
  }
  return ops;
}

Executable built_by(std::shared_ptr<const PluginSet> plugins, const IRModule& module,
                    std::vector<std::string> compilers, int level) {
  BuildOptions options;
  options.plugins = std::move(plugins);
  options.compilers = std::move(compilers);
  options.level = level;
  Result<Executable> out = build(module, options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

Formed formed_by_onednn(std::shared_ptr<const PluginSet> plugins, const IRModule& module) {
  PassContext context = context_of(module, std::move(plugins), {"onednn", "json"});
  IRModule merged = run(module, "infer_types,merge_composites=onednn", context);
  Formed out;
  for (const Node& node : merged.function("main").nodes) {
    if (auto* call = std::get_if<Call>(&node.kind)) out.ops.push_back(call->op->name);
    auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke != nullptr)
      out.composites.push_back(merged.function(invoke->function).attr("composite"));
  }
  return out;
}

std::vector<Tensor> execute_strided(const Executable& executable,
                                    std::shared_ptr<const PluginSet> plugins, uint64_t seed) {
  std::vector<Tensor> outputs;
  Result<std::unique_ptr<Session>> session = Session::load(executable, std::move(plugins));
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  if (!session.ok()) return outputs;
  std::vector<DLTensor> in, out;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::vector<int64_t>> strides;
  std::vector<Tensor> compact;
  for (const NamedTensor& input : (*session)->inputs()) {
    compact.push_back(*Tensor::make(input.type));
    fill_random(compact.back(), seed++);
    const size_t size = dtype_size(input.type.dtype), n = compact.back().size_bytes() / size;
    memory.emplace_back(2 * n * size + 64, std::byte{0xa5});
    for (size_t k = 0; k < n; ++k)
      std::memcpy(memory.back().data() + 2 * k * size, compact.back().data() + k * size, size);
    strides.emplace_back(input.type.dims.size());
    int64_t stride = 2;
    for (size_t d = input.type.dims.size(); d-- > 0; stride *= input.type.dims[d])
      strides.back()[d] = stride;
  }
  for (size_t k = 0; k < compact.size(); ++k) {
    in.push_back(compact[k].view());
    in.back().data = memory[k].data();
    in.back().byte_offset = 0;
    in.back().strides = strides[k].data();
  }
  for (const NamedTensor& output : (*session)->outputs())
    outputs.push_back(*Tensor::make(output.type));
  for (const Tensor& tensor : outputs) out.push_back(tensor.view());
  auto context = (*session)->make_context();
  EXPECT_TRUE(context.ok()) << context.status().to_string();
  Status status = (*session)->run(**context, in, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return outputs;
}

}  // namespace byoc::test
