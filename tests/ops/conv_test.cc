// SPDX-License-Identifier: Apache-2.0
// Convolutions. Expected values: torch 1.13 (conv1d, conv2d, conv3d, conv_transpose*) in f64 on the
// same patterns.
#include "pattern.h"

namespace byoc::testing {
namespace {

const OpDef& op(std::string_view name) { return *all_ops().find(name); }

TEST(Conv2dInfer, ComputesExtents) {
  EXPECT_EQ(infer("conv2d", {f32_type({1, 3, 224, 224}), f32_type({64, 3, 7, 7})},
                  {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}),
            "f32[1,64,112,112]");
}

TEST(Conv2dInfer, KeepsASymbolicBatch) {
  EXPECT_EQ(infer("conv2d", {f32_type({Dim::symbol("N"), 4, 5, 5}), f32_type({2, 4, 3, 3})}),
            "f32[N,2,3,3]");
}

TEST(Conv2dInfer, KeepsSymbolicExtentsThatStayTheSame) {
  Dim h = Dim::symbol("H");
  EXPECT_EQ(infer("conv2d", {f32_type({1, 4, h, 5}), f32_type({2, 4, 3, 3})},
                  {{"pads", Ints{1, 1, 1, 1}}}),
            "f32[1,2,H,5]");
}

TEST(Conv2dInfer, RefusesSymbolicExtentsThatMayBeTooSmall) {
  EXPECT_EQ(infer("conv2d", {f32_type({1, 4, Dim::symbol("H"), 5}), f32_type({2, 4, 3, 3})}),
            "conv2d: a window that reaches over 3 needs an extent of 3, and H may be 0");
}

TEST(Conv2dInfer, RefusesSymbolicChannels) {
  EXPECT_EQ(infer("conv2d", {f32_type({1, Dim::symbol("C"), 5, 5}), f32_type({2, 4, 3, 3})}),
            "conv2d: channels and the weight's shape must be known (x f32[1,C,5,5], weight "
            "f32[2,4,3,3])");
}

TEST(Conv2dInfer, RejectsChannelMismatch) {
  EXPECT_EQ(
      infer("conv2d", {f32_type({1, 3, 8, 8}), f32_type({8, 2, 3, 3})}, {{"group", 2}}),
      "conv2d: 3 channels of x do not divide into 2 groups (x f32[1,3,8,8], weight f32[8,2,3,3])");
  EXPECT_EQ(infer("conv2d", {f32_type({1, 3, 8, 8}), f32_type({8, 4, 3, 3})}),
            "conv2d: x has 3 channels, weight expects 4 (x f32[1,3,8,8], weight f32[8,4,3,3])");
  EXPECT_EQ(infer("conv2d", {f32_type({1, 4, 8, 8}), f32_type({9, 2, 3, 3})}, {{"group", 2}}),
            "conv2d: 9 output channels do not divide into 2 groups (x f32[1,4,8,8], weight "
            "f32[9,2,3,3])");
  EXPECT_EQ(infer("conv2d", {f32_type({1, 4, 8, 8}), f32_type({8, int64_t{1} << 62, 0, 1})},
                  {{"group", 4}}),
            "conv2d: the kernel's extent 0 is not at least 1 and less than 2^31");
}

TEST(Conv2dInfer, RejectsRanksAndDtypes) {
  EXPECT_EQ(infer("conv2d", {f32_type({3, 8, 8}), f32_type({8, 3, 3, 3})}),
            "conv2d: x has rank 3, expects 4 (x f32[3,8,8])");
  EXPECT_EQ(infer("conv2d", {f32_type({1, 3, 8, 8}), f32_type({8, 3, 3})}),
            "conv2d: weight has rank 3, expects 4 (weight f32[8,3,3])");
  EXPECT_EQ(infer("conv2d", {type_of(DType::kI8, {1, 3, 8, 8}), type_of(DType::kI8, {8, 3, 3, 3})}),
            "conv2d: x is i8[1,3,8,8], expects one of f32 f64 f16 bf16 i32");
  EXPECT_EQ(infer("conv2d", {f32_type({1, 3, 8, 8}), type_of(DType::kF16, {8, 3, 3, 3})}),
            "conv2d: inputs 0 and 1 are f32[1,3,8,8] and f16[8,3,3,3], expects one dtype");
}

TEST(Conv2dInfer, RejectsBadWindows) {
  std::vector<TensorType> in = {f32_type({1, 3, 8, 8}), f32_type({8, 3, 3, 3})};
  EXPECT_EQ(infer("conv2d", in, {{"strides", Ints{1}}}),
            "conv2d: strides has 1 entries, expected 2");
  EXPECT_EQ(infer("conv2d", in, {{"strides", Ints{0, 1}}}),
            "conv2d: strides holds 0, expected at least 1 and less than 2^31");
  EXPECT_EQ(infer("conv2d", in, {{"pads", Ints{0, 0, -1, 0}}}),
            "conv2d: pads holds -1, expected at least 0 and less than 2^31");
  EXPECT_EQ(infer("conv2d", in, {{"dilations", Ints{1, int64_t{1} << 31}}}),
            "conv2d: dilations holds 2147483648, expected at least 1 and less than 2^31");
  EXPECT_EQ(infer("conv2d", in, {{"group", 0}}), "conv2d: group is 0, expected at least 1");
  EXPECT_EQ(infer("conv2d", in, {{"dilations", Ints{4, 1}}}),
            "conv2d: a window that reaches over 9 does not fit into 8 padded by 0 and 0");
}

TEST(Conv2d, PadsEachSideOnItsOwn) {
  Values y = run_op1("conv2d", {pattern({1, 3, 5, 7}), weights({2, 3, 3, 3})},
                     {{"pads", Ints{0, 2, 1, 1}}, {"strides", Ints{2, 3}}});
  expect_close(y, f32({1, 2, 2, 3}, {0, 26, 14, -1, 14, -53, -33, 14, 26, 6, 26, 27}));
}

TEST(Conv2d, KeepsGroupsApart) {
  Values y = run_op1("conv2d", {pattern({2, 4, 3, 3}), weights({4, 2, 2, 3})},
                     {{"pads", Ints{0, 1, 0, 1}}, {"group", 2}});
  expect_close(y, f32({2, 4, 2, 3},
                      {-15, 18, -15, 1,  7,   -42, 5,  18,  14, -2, 19,  20, 2,   -1,  20, 24,
                       -32, 14, -3,  17, -42, -18, 24, -15, 1,  7,  -42, -5, 7,   -36, -2, 19,
                       20,  2,  20,  15, 24,  -32, 14, 24,  14, -3, -18, 24, -15, -11, -2, 1}));
}

TEST(Conv2d, Dilates) {
  Values y = run_op1("conv2d", {pattern({1, 2, 7, 9}), weights({1, 2, 2, 3})},
                     {{"pads", Ints{1, 1, 1, 1}}, {"dilations", Ints{3, 2}}});
  expect_close(
      y, f32({1, 1, 6, 7}, {-7,  -16, 16,  -18, -8, 13,  21, -26, 41, -3,  -3,  8,   -36, 10,
                            22,  -25, -25, 41,  -3, -3,  -5, 4,   -3, 41,  -25, -25, 41,  2,
                            -25, 8,   -3,  -3,  41, -25, -2, 6,   -8, -18, 16,  -16, -15, 13}));
}

TEST(Conv2d, IsDepthwiseWithOneChannelAGroup) {
  Values y = run_op1("conv2d", {pattern({1, 3, 4, 4}), weights({3, 1, 3, 3})},
                     {{"pads", Ints{1, 1, 1, 1}}, {"group", 3}});
  expect_close(y, f32({1, 3, 4, 4},
                      {-22, 30,  -14, 15, 8,  5,   -2, 24, -17, 21, -8, -33, -4, 13, 9,   -14,
                       -7,  9,   10,  -6, 8,  5,   2,  3,  -22, -7, 23, -8,  15, 9,  -16, -1,
                       14,  -17, 12,  8,  10, -32, -4, 12, -9,  25, 9,  3,   -6, 12, -18, 24}));
}

TEST(Conv2d, TakesEmptyExtents) {
  EXPECT_EQ(run_op1("conv2d", {pattern({0, 3, 4, 4}), weights({2, 3, 3, 3})}).type,
            f32_type({0, 2, 2, 2}));
  EXPECT_EQ(run_op1("conv2d", {pattern({1, 3, 4, 4}), weights({0, 3, 3, 3})}).type,
            f32_type({1, 0, 2, 2}));
  expect_close(run_op1("conv2d", {pattern({1, 0, 2, 2}), weights({1, 0, 2, 1})}),
               f32({1, 1, 1, 2}, {0, 0}));
}

TEST(Conv2d, SumsHalvesInF32) {
  // 4096 ones and one half: 4096.5 is no f16 number, and a sum in f16 does not exceed 2048.
  Values x = tensor(DType::kF16, {1, 1, 1, 4097}, std::vector<double>(4097, 1));
  Values w = x;
  x.values[0] = 4;
  EXPECT_EQ(run_op1("conv2d", {x, w}).values, std::vector<double>{4100});
  x.type.dtype = w.type.dtype = DType::kBF16;
  EXPECT_EQ(run_op1("conv2d", {x, w}).values, std::vector<double>{4096});
}

TEST(Conv2d, CountsAMultiplyAddAsTwo) {
  TypeId in[] = {f32_type({2, 6, 8, 8}), f32_type({4, 3, 3, 3})};
  TypeId out[] = {f32_type({2, 4, 6, 6})};
  EXPECT_EQ(flops(op("conv2d"), in, out, {{"group", 2}}), 2.0 * 2 * 4 * 36 * 3 * 9);
}

TEST(Conv1d, StridesOverTheLastDim) {
  Values y = run_op1("conv1d", {pattern({2, 3, 11}), weights({4, 3, 4})},
                     {{"pads", Ints{2, 2}}, {"strides", Ints{3}}});
  std::vector<double> image = {11, -19, -19, -19, -4, 25, 26, 27, -12, -22, -20, -18, 22, 8, 4, 0};
  std::vector<double> both = image;  // the 33 elements of x are three periods of the pattern
  both.insert(both.end(), image.begin(), image.end());
  expect_close(y, f32({2, 4, 4}, both));
}

TEST(Conv1d, CoversTilesThatAreNotFull) {
  Values y = run_op1("conv1d", {pattern({1, 13, 67}), weights({19, 13, 3})});
  double sum = 0, weighted = 0;
  for (size_t k = 0; k < y.values.size(); ++k) {
    sum += y.values[k];
    weighted += static_cast<double>(k) * y.values[k];
  }
  EXPECT_EQ(y.type, f32_type({1, 19, 65}));
  EXPECT_EQ(sum, 68);
  EXPECT_EQ(weighted, 44633);
}

TEST(Conv3d, SlidesOverThreeDims) {
  Values y = run_op1("conv3d", {pattern({1, 2, 3, 4, 3}), weights({2, 2, 2, 3, 1})},
                     {{"pads", Ints{1, 0, 1, 1, 0, 1}}, {"strides", Ints{1, 2, 1}}});
  expect_close(y, f32({1, 2, 4, 1, 5}, {0, 30, -4, -16, 0,  0, 10, -23, 10, 0, 0, -23, 10, -23,
                                        0, 0,  5,  -16, -4, 0, 0,  -25, 1,  5, 0, 0,   -5, 10,
                                        3, 0,  0,  10,  3,  7, 0,  0,   5,  5, 5, 0}));
}

TEST(ConvTransposeInfer, ComputesExtents) {
  EXPECT_EQ(
      infer("conv2d_transpose", {f32_type({1, 2, 2, 3}), f32_type({2, 3, 3, 2})},
            {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 1, 0}}, {"output_padding", Ints{1, 2}}}),
      "f32[1,3,4,10]");
}

TEST(ConvTransposeInfer, RejectsWhatDoesNotFit) {
  std::vector<TensorType> in = {f32_type({1, 2, 2, 3}), f32_type({2, 3, 3, 2})};
  EXPECT_EQ(
      infer("conv2d_transpose", {in[0], f32_type({4, 3, 3, 2})}),
      "conv2d_transpose: x has 2 channels, weight expects 4 (x f32[1,2,2,3], weight f32[4,3,3,2])");
  EXPECT_EQ(infer("conv2d_transpose", in, {{"group", 4}}),
            "conv2d_transpose: 2 channels of x do not divide into 4 groups (x f32[1,2,2,3], weight "
            "f32[2,3,3,2])");
  EXPECT_EQ(infer("conv2d_transpose", in, {{"output_padding", Ints{1}}}),
            "conv2d_transpose: output_padding has 1 entries, expected 2");
  EXPECT_EQ(infer("conv2d_transpose", in, {{"output_padding", Ints{0, -1}}}),
            "conv2d_transpose: output_padding holds -1, expected at least 0 and less than 2^31");
  EXPECT_EQ(infer("conv2d_transpose", in, {{"pads", Ints{3, 0, 3, 0}}}),
            "conv2d_transpose: the output extent would be -2 for an input extent of 2");
  EXPECT_EQ(infer("conv2d_transpose", {f32_type({1, 2, Dim::symbol("H"), 3}), in[1]}),
            "conv2d_transpose: the extent over which a window slides must be known, it is H");
  EXPECT_EQ(infer("conv1d_transpose", {f32_type({0, 1, int64_t{1} << 40}), f32_type({1, 1, 2})},
                  {{"strides", Ints{(int64_t{1} << 31) - 1}}}),
            "conv1d_transpose: the output extent does not fit in 63 bits");
}

TEST(ConvTranspose, SpreadsByItsStride) {
  Values y = run_op1(
      "conv2d_transpose", {pattern({1, 2, 2, 3}), weights({2, 3, 3, 2})},
      {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 1, 0}}, {"output_padding", Ints{1, 2}}});
  expect_close(
      y, f32({1, 3, 4, 10},
             {-4, -2,  0, 0,  -4, 0, 4,   16,  0, 0, -13, 8,   0, 0,  3,  0, -20, -13, 0, 0,
              -3, -19, 0, 1,  1,  0, 5,   21,  0, 0, 21,  5,   0, 1,  1,  0, -19, -3,  0, 0,
              -6, -4,  0, 4,  0,  0, -8,  4,   0, 0, -13, -13, 0, -3, 0,  0, 29,  -20, 0, 0,
              13, -3,  0, 1,  1,  0, -11, 5,   0, 0, -19, 21,  0, 1,  1,  0, 21,  -19, 0, 0,
              27, -6,  0, -6, 4,  0, -6,  -8,  0, 0, 1,   -13, 0, 1,  -3, 0, 1,   29,  0, 0,
              -6, 13,  0, -6, 1,  0, -6,  -11, 0, 0, -3,  -19, 0, 1,  1,  0, 5,   21,  0, 0}));
}

TEST(ConvTranspose, KeepsGroupsApartAndDilates) {
  Values y = run_op1("conv2d_transpose", {pattern({1, 4, 2, 3}), weights({4, 2, 2, 2})},
                     {{"dilations", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"group", 2}});
  expect_close(
      y, f32({1, 4, 2, 4}, {-5, -1, 10, 2,  0,   8,  22, -4, 2,  -14, 2,  2,  -2, 14, 23, -6,
                            10, -4, -5, -9, -10, 18, 2,  2,  18, -10, -5, -1, -4, 10, 0,  8}));
}

TEST(ConvTranspose, WorksOverOneAndThreeDims) {
  expect_close(run_op1("conv1d_transpose", {pattern({1, 2, 5}), weights({2, 1, 3})},
                       {{"strides", Ints{2}}, {"pads", Ints{1, 1}}}),
               f32({1, 1, 9}, {-19, -17, 16, 10, -4, -7, -2, -13, 11}));
  expect_close(
      run_op1("conv3d_transpose", {pattern({1, 1, 2, 2, 2}), weights({1, 2, 2, 1, 2})},
              {{"strides", Ints{2, 1, 1}}}),
      f32({1, 2, 4, 2, 3}, {15, -16, 4, 6,   -19, 10, 0,  10, -4,  0, 4,  -10, -3, 11, -6,  -12,
                            8,  0,   0, -2,  6,   0,  -8, 0,  -15, 1, 2,  -6,  13, 5,  5,   13,
                            -6, 2,   1, -15, 3,   -8, -3, 12, 4,   0, -1, 0,   9,  -4, -12, 0}));
}

TEST(ConvTranspose, CountsEveryInputWithEveryTap) {
  TypeId in[] = {f32_type({1, 4, 5, 5}), f32_type({4, 3, 2, 2})};
  TypeId out[] = {f32_type({1, 6, 6, 6})};
  EXPECT_EQ(flops(op("conv2d_transpose"), in, out, {{"group", 2}}), 2.0 * 100 * 3 * 4);
}

}  // namespace
}  // namespace byoc::testing
