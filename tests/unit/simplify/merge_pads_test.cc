// SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

void expect_merged(const std::string& body, int pads_left) {
  const std::string text = "fn main(%x: f32[2,3,5,6], %w: f32[4,3,2,3]) {\n" + body + " }";
  IRModule module = module_of(text);
  auto merged = after(module, "merge_pads");
  ASSERT_TRUE(merged.ok()) << merged.status().to_string();
  EXPECT_EQ(count_calls(*merged, "pad"), pads_left) << print(*merged);
  testing::expect_same_results(module, *merged, 0);
  auto again = after(*merged, "merge_pads");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(equal(*merged, *again)) << print(*again);
}

TEST(MergePads, OfConvolutionsWithStridesDilationsAndTheirOwnPads) {
  expect_merged(
      "%0 = pad(%x) {pads=[0,0,1,2,0,0,0,3]}\n"
      "%1 = conv2d(%0, %w) {pads=[0,1,2,0], strides=[2,1], dilations=[1,2]}\n"
      "return %1",
      0);
}

TEST(MergePads, OfAveragePools) {
  for (const char* attrs : {"strides=[2,2]", "pads=[0,0,0,0]", "dilations=[2,1]",
                            "pads=[1,0,0,1], count_include_pad=true"}) {
    SCOPED_TRACE(attrs);
    expect_merged(cat("%0 = pad(%x) {pads=[0,0,1,1,0,0,0,1]}\n"
                      "%1 = average_pool(%0) {kernel_shape=[3,3], ",
                      attrs, "}\nreturn %1"),
                  0);
  }
}

TEST(MergePads, LeavesThoseThatPoolsDoNotCountAlike) {
  for (const char* attrs : {"pads=[0,0,1,0]", "ceil_mode=true, strides=[2,2]"}) {
    SCOPED_TRACE(attrs);
    expect_merged(cat("%0 = pad(%x) {pads=[0,0,1,1,0,0,0,1]}\n"
                      "%1 = average_pool(%0) {kernel_shape=[3,3], ",
                      attrs, "}\nreturn %1"),
                  1);
  }
}

TEST(MergePads, KeepsOneForOtherReadersAndForResults) {
  expect_merged(
      "%0 = pad(%x) {pads=[0,0,1,1,0,0,1,1]}\n"
      "%1 = conv2d(%0, %w)\n"
      "%2 = relu(%0)\n"
      "%3 = conv2d(%0, %w) {strides=[2,2]}\n"
      "return %1, %2, %3, %0",
      1);
}

TEST(MergePads, LeavesPadsOfPads) {
  expect_merged(
      "%0 = pad(%x) {pads=[0,0,1,1,0,0,1,1]}\n"
      "%1 = pad(%0) {pads=[0,0,0,0,0,0,2,0]}\n"
      "%2 = conv2d(%1, %w)\n"
      "return %2",
      2);
}

TEST(MergePads, RemovesThoseWithoutCells) {
  expect_merged(
      "%0 = pad(%x) {pads=[0,0,0,0,0,0,0,0], mode=\"edge\"}\n%1 = relu(%0)\n"
      "return %1, %0",
      0);
}

TEST(MergePads, LeavesPadsOfOtherDimsModesAndValues) {
  for (const char* attrs :
       {"pads=[1,0,0,0,0,0,0,0]", "pads=[0,0,-1,0,0,0,0,0]", "pads=[0,0,1,0,0,0,0,0], value=1.0",
        "pads=[0,0,1,0,0,0,0,0], mode=\"reflect\""}) {
    SCOPED_TRACE(attrs);
    expect_merged(cat("%0 = pad(%x) {", attrs, "}\n%1 = conv2d(%0, %w)\nreturn %1"), 1);
  }
}

}  // namespace
}  // namespace byoc
