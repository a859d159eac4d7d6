// SPDX-License-Identifier: Apache-2.0
// The numbers of open sizes for which times are estimated.
#include <gtest/gtest.h>

#include "core/placement/work.h"
#include "support/flow.h"

namespace byoc::placement {
namespace {

TEST(SampleSizes, AreNumbersOnTheSameNodes) {
  const IRModule module = test::parse(R"(
fn main(%x: f32[1<=N<=9,3,1<=H], %y: f32[1<=M<=2,200<=W<=300]) {
  %0 = relu(%x)
  %1 = concat(%0, %x) {axis=2}
  %2 = exp(%y)
  return %1, %2
})");
  const Function& open = module.function("main");
  const std::optional<Function> sample = at_sample_sizes(open);
  ASSERT_TRUE(sample);
  ASSERT_EQ(sample->nodes.size(), open.nodes.size());
  EXPECT_EQ(cat(*sample->type(sample->results[0])), "f32[4,3,256]");
  EXPECT_EQ(cat(*sample->type(sample->results[1])), "f32[2,200]");
  EXPECT_EQ(work_of(module, *sample, sample->results[1].node).bytes, 2 * 2 * 200 * 4);
}

TEST(SampleSizes, AFunctionOfNumbersHasNone) {
  const IRModule module = test::parse("fn main(%x: f32[2]) { %0 = relu(%x) return %0 }");
  EXPECT_FALSE(at_sample_sizes(module.function("main")));
}

}  // namespace
}  // namespace byoc::placement
