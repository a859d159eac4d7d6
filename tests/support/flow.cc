// SPDX-License-Identifier: Apache-2.0
#include "flow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "byoc/import.h"
#include "support/paths.h"

namespace byoc::test {

std::shared_ptr<const PluginSet> selective_plugins(const PluginOptions& options) {
  PluginSearch search;
  for (const auto& [id, values] : options)
    search.files.push_back(cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_", id, ".so"));
  search.files.push_back(cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so"));
  search.options = options;
  auto plugins = PluginSet::load(search);
  for (const RefusedPlugin& refused : plugins->refused())
    ADD_FAILURE() << refused.path << ": " << refused.reason;
  return plugins;
}

std::shared_ptr<const PluginSet> built_plugins() {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  return PluginSet::load(search);
}

IRModule parse(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

IRModule import(const std::string& path, GivenShapes shapes) {
  ImportOptions options;
  options.shapes = std::move(shapes);
  Result<IRModule> module = import_onnx(cat(BYOC_TEST_DATA, "/models/", path), all_ops(), options);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

PassContext context_of(const IRModule& module, std::shared_ptr<const PluginSet> plugins,
                       std::vector<std::string> compilers, Report* report) {
  BuildOptions options;
  options.plugins = std::move(plugins);
  options.compilers = std::move(compilers);
  options.report = report;
  Result<PassContext> context = make_context(module, options);
  EXPECT_TRUE(context.ok()) << context.status().to_string();
  return context.ok() ? *std::move(context) : PassContext();
}

IRModule run(IRModule module, std::string_view passes, const PassContext& context) {
  Result<std::vector<Pass>> parsed = parse_passes(passes);
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  if (!parsed.ok()) return module;
  Result<IRModule> out = run_passes(std::move(module), *parsed, context);
  EXPECT_TRUE(out.ok()) << passes << ": " << out.status().to_string();
  return out.ok() ? *std::move(out) : IRModule();
}

const std::vector<std::string>& clean_up_passes() {
  static const std::vector<std::string> kPasses = {
      "infer_types",     "inline_functions",    "bind_constant_arguments", "fold_constants",
      "fold_batch_norm", "eliminate_dead_code", "merge_equal_nodes"};
  return kPasses;
}

Tensor tensor_f32(std::vector<int64_t> dims, const std::vector<float>& values) {
  Result<Tensor> tensor = Tensor::make({DType::kF32, std::move(dims)});
  EXPECT_TRUE(tensor.ok()) << tensor.status().to_string();
  EXPECT_EQ(tensor->size_bytes(), values.size() * sizeof(float));
  std::memcpy(tensor->data(), values.data(), tensor->size_bytes());
  return *std::move(tensor);
}

std::vector<Tensor> execute(const Executable& executable, std::shared_ptr<const PluginSet> plugins,
                            const std::vector<Tensor>& inputs, uint64_t seed, uint32_t threads) {
  std::vector<Tensor> outputs;
  Result<std::unique_ptr<Session>> session =
      Session::load(executable, std::move(plugins), {.threads = threads});
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  if (!session.ok()) return outputs;
  std::vector<Tensor> random;
  for (const NamedTensor& input : (*session)->inputs()) {
    random.push_back(*Tensor::make(input.type));
    fill_random(random.back(), seed++);
  }
  const std::vector<Tensor>& used = inputs.empty() ? random : inputs;
  std::vector<DLTensor> in, out;
  for (const Tensor& tensor : used) in.push_back(tensor.view());
  const auto types = (*session)->output_types(in);  // numbers where sizes are open
  EXPECT_TRUE(types.ok()) << types.status().to_string();
  if (!types.ok()) return outputs;
  for (const TensorSpec& type : *types) {
    outputs.push_back(*Tensor::make(type));
    // NaN in each float makes an output visible that is not written in full.
    std::memset(outputs.back().data(), 0xFF, outputs.back().size_bytes());
  }
  for (const Tensor& tensor : outputs) out.push_back(tensor.view());
  setenv("BYOC_CANARY", "1", 1);
  auto context = (*session)->make_context();
  EXPECT_TRUE(context.ok()) << context.status().to_string();
  Status status = (*session)->run(**context, in, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  if (!status.ok()) return outputs;
  for (size_t k = 0; k < outputs.size(); ++k)
    outputs[k].shrink((*session)->output_dims(**context, k));
  return outputs;
}

std::vector<float> floats(const Tensor& tensor) {
  auto* data = reinterpret_cast<const float*>(tensor.data());
  return {data, data + tensor.size_bytes() / sizeof(float)};
}

void expect_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].spec(), b[k].spec());
    std::vector<float> x = floats(a[k]), y = floats(b[k]);
    float largest = 0;
    for (float v : y) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      ASSERT_LE(std::abs(x[i] - y[i]), 1e-4f * largest) << "output " << k << ", element " << i;
    }
  }
}

void expect_equal(const IRModule& a, const IRModule& b) {
  std::string why;
  EXPECT_TRUE(equal(a, b, &why)) << why << "\n" << print(a) << "\n" << print(b);
}

}  // namespace byoc::test
