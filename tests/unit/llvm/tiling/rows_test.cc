// SPDX-License-Identifier: Apache-2.0
// Rows of images whose result has an axis more.
#include <gtest/gtest.h>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/machine/machine.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

// The fuzzer found that the schedule of rows looked for the axes of the sums in the result.
TEST(Rows, AreNotForResultsThatHaveAnAxisAsTwo) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.param("x", {DType::kF32, {1, 1, 2, 2}});
  const ValueId w = f.param("w", {DType::kF32, {2, 1, 2, 2, 1, 1}});
  const ValueId y = f.call("conv2d_nchwc", {x, w}, {{"pads", Ints{1, 0, 1, 1}}});
  const ValueId z = f.call("unsqueeze", {y}, {{"axes", Ints{-3}}});
  ASSERT_TRUE(f.finish("main", {f.call("negative", {z})}).ok());
  module.function("main").attrs.set("llvm.inputs", int64_t{2});
  const te::Target target = llvm_plugin::host_target();
  auto dag = llvm_plugin::translate(module, target);
  ASSERT_TRUE(dag.ok()) << dag.status().message();
  auto kernel = llvm_plugin::lower_with_constants(*dag, 2, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const std::vector<float> taps = {1, 10, 100, 1000, 2, 20, 200, 2000};
  const std::vector<test::Data> out =
      test::run_loops(kernel->loops, {test::f32({1, 2, 3, 4}), test::f32(taps)});
  const std::vector<float> right = {-2100, -200, -4321, -402, -43, -4,
                                    -4200, -400, -8642, -804, -86, -8};
  EXPECT_EQ(out[0].as<float>(), right);
}

}  // namespace
}  // namespace byoc
