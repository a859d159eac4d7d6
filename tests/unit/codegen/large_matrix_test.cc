// SPDX-License-Identifier: Apache-2.0
// A constant matrix that fold_constants would not put into panels stays plain: the transform would
// be an op of every run.
#include <gtest/gtest.h>

#include "byoc/pass/codegen.h"
#include "byoc/text/builder.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

// Returns true when a product with a constant of 1024 rows reads it in panels.
bool is_in_panels(int64_t columns) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {1, 1024}});
  const std::vector<float> weight(static_cast<size_t>(1024 * columns), 1.0f);
  ValueId y = f.call("matmul", {x, f.constant_f32({1024, columns}, weight)});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  PassContext context =
      context_of(module, selective_plugins({{"kernels", {{"layouts", "matmul:16"}}}}));
  context.defaults = {"kernels"};
  Result<IRModule> out = assign_layouts(std::move(module), context);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return print(*out).find("matmul_packed") != std::string::npos;
}

TEST(LargeMatrix, IsInPanelsUpToTheLimitOfFolding) {
  EXPECT_TRUE(is_in_panels(16384));  // 64 MiB
  EXPECT_FALSE(is_in_panels(16400));
}

}  // namespace
}  // namespace byoc::test
