// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole flows in tests: plugins with chosen ops, models as text or files, sessions in one call.
#include "byoc/compile.h"
#include "byoc/ir/dim.h"
#include "byoc/runtime/session.h"
#include "byoc/text/text.h"

namespace byoc::test {

using PluginOptions = std::map<std::string, std::map<std::string, std::string>>;

/// Returns test plugins "a", "b", "c" (support/plugins) named in `options`, and json as
/// the default codegen.
std::shared_ptr<const PluginSet> selective_plugins(const PluginOptions& options);
/// Returns the plugins in the build's plugins folder.
std::shared_ptr<const PluginSet> built_plugins();

IRModule parse(std::string_view text);
/// Imports a model of tests/models.
IRModule import(const std::string& path, GivenShapes shapes = {});
PassContext context_of(const IRModule& module, std::shared_ptr<const PluginSet> plugins,
                       std::vector<std::string> compilers = {}, Report* report = nullptr);
/// Runs "a,b=x+y" on the module; a failure is a test failure.
IRModule run(IRModule module, std::string_view passes, const PassContext& context);
/// Returns the clean-up passes that need no arguments.
const std::vector<std::string>& clean_up_passes();

Tensor tensor_f32(std::vector<int64_t> dims, const std::vector<float>& values);
/// Runs an executable; makes inputs from `seed` when none are given.
std::vector<Tensor> execute(const Executable& executable, std::shared_ptr<const PluginSet> plugins,
                            const std::vector<Tensor>& inputs = {}, uint64_t seed = 1,
                            uint32_t threads = 1);
std::vector<float> floats(const Tensor& tensor);
/// Expects |a - b| <= 1e-4 of the largest |b|, element by element: the tolerance of `byoc verify`
/// for f32.
void expect_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b);
void expect_equal(const IRModule& a, const IRModule& b);

}  // namespace byoc::test
