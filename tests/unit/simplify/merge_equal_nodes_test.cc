// SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

TEST(MergeEqualNodes, KeepsTheResults) {
  IRModule module = module_of(
      "fn main(%x: f32[4], %y: f32[4]) {\n"
      "  %0 = add(%x, %y)  %1 = add(%x, %y)  %2 = add(%y, %x)\n"
      "  %3 = multiply(%0, %1)  %4 = multiply(%1, %0)  %5 = subtract(%3, %2)\n"
      "  return %5, %4, %3 }");
  auto merged = after(module, "merge_equal_nodes");
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->function("main").nodes.size(), 6u) << print(*merged);
  testing::expect_same_results(module, *merged, 0);
}

TEST(MergeEqualNodes, LeavesPromisedBodiesAlone) {
  IRModule module = module_of(
      "fn main(%x: f32[4]) { %0 = @p_add(%x)  return %0 }\n"
      "fn p_add(%x: f32[4]) {composite=\"p.add\"} { %0 = relu(%x)  %1 = relu(%x)  %2 = add(%0, "
      "%1)\n"
      "  return %2 }");
  auto merged = after(module, "merge_equal_nodes");
  ASSERT_TRUE(merged.ok());
  expect_equal(*merged, module);
}

TEST(MergeEqualNodes, TellsZeroFromMinusZeroInAttributes) {
  IRModule module = module_of(
      "fn main(%x: f32[4]) { %0 = leaky_relu(%x) {alpha=0.0}  %1 = leaky_relu(%x) {alpha=-0.0}\n"
      "  return %0, %1 }");
  auto merged = after(module, "merge_equal_nodes");
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(count_calls(*merged, "leaky_relu"), 2);
}

}  // namespace
}  // namespace byoc
