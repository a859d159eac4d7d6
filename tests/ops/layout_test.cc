// SPDX-License-Identifier: Apache-2.0
// Blocked layouts. Expected values of layout_transform: numpy's reshape and transpose, by hand.
// conv2d_nchwc is compared with conv2d (tested in conv_test.cc) between two transforms.
#include "pattern.h"

namespace byoc::testing {
namespace {

Attrs layouts(const char* from, const char* to) {
  return {{"src_layout", std::string(from)}, {"dst_layout", std::string(to)}};
}

TEST(LayoutTransform, PutsBlocksOfTheDimInnermost) {
  Values x = f32({1, 4, 1, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  Values y = f32({1, 2, 1, 3, 2}, {0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32});
  expect_near(run_op1("layout_transform", {x}, layouts("NCHW", "NCHW2c")), y, 0);
  expect_near(run_op1("layout_transform", {y}, layouts("NCHW2c", "NCHW")), x, 0);
}

TEST(LayoutTransform, BlocksAnyDim) {
  Values x = i64({4, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  Values y = i64({1, 2, 4}, {0, 10, 20, 30, 1, 11, 21, 31});
  expect_near(run_op1("layout_transform", {x}, layouts("OI", "OI4o")), y, 0);
  expect_near(run_op1("layout_transform", {y}, layouts("OI4o", "OI")), x, 0);
}

TEST(LayoutTransform, MayMoveDims) {
  Values x = f32({2, 4}, {0, 1, 2, 3, 10, 11, 12, 13});
  Values y = f32({2, 2, 2}, {0, 1, 10, 11, 2, 3, 12, 13});
  expect_near(run_op1("layout_transform", {x}, layouts("KN", "NK2n")), y, 0);
  expect_near(run_op1("layout_transform", {y}, layouts("NK2n", "KN")), x, 0);
}

TEST(MatmulPacked, IsMatmul) {
  Values a = pattern({2, 3, 5}), b = weights({5, 6});
  Values packed = run_op1("layout_transform", {b}, layouts("KN", "NK3n"));
  expect_close(run_op1("matmul_packed", {a, packed}), run_op1("matmul", {a, b}));
  EXPECT_EQ(infer("matmul_packed", {f32_type({2, 4}), f32_type({2, 5, 3})}),
            "matmul_packed: b expects rows of 5 elements (b f32[2,5,3]) (x f32[2,4])");
  EXPECT_EQ(infer("matmul_packed", {f32_type({4}), f32_type({2, 5, 3})}),
            "matmul_packed: a has rank 1, expects 2 (a f32[4])");
}

TEST(LayoutTransformInfer, RefusesWhatIsNoTransform) {
  TensorType x = f32_type({1, 6, 2, 2});
  EXPECT_EQ(infer("layout_transform", {x}, layouts("NCHW", "NCHW4c")),
            "layout_transform: an extent of 6 does not divide into blocks of 4 (x f32[1,6,2,2])");
  EXPECT_EQ(infer("layout_transform", {x}, layouts("NCHW", "NCDW4c")),
            "layout_transform: from NCHW to NCDW4c; expected the same dims, blocked on one side "
            "alone");
  EXPECT_EQ(infer("layout_transform", {x}, layouts("NCHW", "NCHW")),
            "layout_transform: from NCHW to NCHW; expected the same dims, blocked on one side "
            "alone");
  EXPECT_EQ(infer("layout_transform", {x}, layouts("NCHW", "NCHW2k")),
            "layout_transform: \"NCHW2k\" is no layout; expected letters of dims, then one factor "
            "of at most 64 with its dim in lower case, as in NCHW8c");
  EXPECT_EQ(infer("layout_transform", {x}, layouts("NCW", "NCW2c")),
            "layout_transform: x has rank 4, expects 3 (x f32[1,6,2,2])");
  EXPECT_EQ(infer("layout_transform", {f32_type({1, 3, 2, 2, 4})}, layouts("NCHW2c", "NCHW")),
            "layout_transform: the last dim is not 2 (x f32[1,3,2,2,4])");
}

struct ConvCase {
  Ints x, weight, strides, pads, dilations;
  int64_t group, block, in_block, x_block;  // x_block = 0: x has a plain layout
};

TEST(Conv2dNchwc, IsConv2dInBlocks) {
  const ConvCase cases[] = {
      {{2, 3, 7, 5}, {4, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1, 4, 1, 0},
      {{1, 8, 6, 9}, {16, 8, 3, 3}, {1, 1}, {1, 0, 2, 1}, {1, 2}, 1, 8, 2, 4},
      {{1, 8, 5, 5}, {8, 1, 3, 3}, {1, 2}, {1, 1, 1, 1}, {1, 1}, 8, 2, 1, 8},
      {{1, 12, 4, 4}, {6, 4, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 3, 2, 4, 4},
  };
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(cat(c.x[1], " channels, block ", c.block));
    Values x = pattern(c.x), weight = pattern(c.weight);
    Attrs attrs = {
        {"strides", c.strides}, {"pads", c.pads}, {"dilations", c.dilations}, {"group", c.group}};
    Values expected = run_op1("conv2d", {x, weight}, attrs);
    std::string in = cat("NCHW", c.x_block, "c"), out = cat("NCHW", c.block, "c");
    std::string inner = cat("OIHW", c.in_block, "i"), outer = cat("OIHWJ", c.block, "o");
    if (c.x_block > 0) x = run_op1("layout_transform", {x}, layouts("NCHW", in.c_str()));
    weight = run_op1("layout_transform", {weight}, layouts("OIHW", inner.c_str()));
    weight = run_op1("layout_transform", {weight}, layouts("OIHWJ", outer.c_str()));
    Values y = run_op1("conv2d_nchwc", {x, weight}, attrs);
    expect_close(run_op1("layout_transform", {y}, layouts(out.c_str(), "NCHW")), expected);
  }
}

TEST(Conv2dNchwcInfer, RefusesChannelsThatDoNotFit) {
  EXPECT_EQ(infer("conv2d_nchwc", {f32_type({1, 8, 4, 4}), f32_type({2, 1, 1, 1, 4, 8})}),
            "conv2d_nchwc: group 1 and weight f32[2,1,1,1,4,8] do not fit (x f32[1,8,4,4])");
  EXPECT_EQ(infer("conv2d_nchwc", {f32_type({8, 4, 4}), f32_type({1, 1, 1, 1, 8, 8})}),
            "conv2d_nchwc: x has rank 3, expects 5 (x f32[8,4,4])");
  EXPECT_EQ(infer("conv2d_nchwc", {f32_type({1, 8, 4, 4}), f32_type({8, 8, 1, 1})}),
            "conv2d_nchwc: weight has rank 4, expects 6 (weight f32[8,8,1,1])");
  EXPECT_EQ(infer("conv2d_nchwc", {f32_type({1, 1, 4, 4}), f32_type({1, 1, 1, 1, 1, 0})}),
            "conv2d_nchwc: weight f32[1,1,1,1,1,0] has blocks of no channels (x f32[1,1,4,4])");
}

}  // namespace
}  // namespace byoc::testing
