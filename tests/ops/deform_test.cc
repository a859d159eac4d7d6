// SPDX-License-Identifier: Apache-2.0
// deform_rows and col2im. Expected values: torchvision 0.14 (ops.deform_conv2d with weights that
// select one column) and torch 1.13 (nn.functional.fold), in f64.
#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

Values quarters(const std::vector<int64_t>& dims, int64_t step, int64_t modulus, int64_t shift) {
  Values out = pattern(dims, step, modulus, shift);
  for (double& value : out.values) value /= 4;
  return out;
}

// Puts the columns [n, c * k, cells...], as torchvision's weights give them, in rows
// [n, 1, cells..., k, c].
Values as_rows(const Values& columns, int64_t taps) {
  const std::vector<int64_t> from = static_extents(columns.type.shape);
  std::vector<int64_t> to(from);
  const int64_t channels = from[1] / taps;
  int64_t cells = 1;
  for (size_t d = 2; d < from.size(); ++d) cells *= from[d];
  to[1] = 1;
  to.insert(to.end(), {taps, channels});
  std::vector<double> values;
  for (int64_t k = 0; k < from[0] * cells * taps * channels; ++k) {
    const int64_t channel = k % channels, tap = k / channels % taps;
    const int64_t cell = k / channels / taps % cells, image = k / channels / taps / cells;
    const int64_t column = (image * channels + channel) * taps + tap;
    values.push_back(columns.values[static_cast<size_t>(column * cells + cell)]);
  }
  return tensor(columns.type.dtype, to, std::move(values));
}

TEST(DeformRows, SamplesEachTapAtItsOffsetTimesItsMask) {
  Values x = pattern({1, 2, 4, 4}), offset = quarters({1, 8, 3, 3}, 3, 8, 4),
         mask = quarters({1, 4, 3, 3}, 5, 9, 0);
  expect_near(
      run_op1("deform_rows", {x, offset, mask}, {{"kernel_shape", Ints{2, 2}}}),
      as_rows(f32({1, 8, 3, 3},
                  {0, 0,        -0.03125, -5.25,   1.125,   1.53125,  -0.84375, -5,    2.25,
                   0, -0.625,   0.3125,   -0.9375, 0.6875,  4.8125,   -1.5,     -3.5,  1,
                   0, -0.78125, 0.34375,  0,       -1,      -3.0625,  0.1875,   3.5,   2,
                   0, -1.875,   0.8125,   1.3125,  0.4375,  -2.1875,  2.4375,   0.75,  -1.5,
                   0, 1.875,    0.125,    -2.25,   -2,      2.625,    0.65625,  -1,    -4,
                   0, 0,        -0.25,    2.0625,  -1.0625, -6.125,   0,        -2.25, -1.125,
                   0, 1.71875,  -0.53125, 0,       0,       -1.96875, 0.375,    7.5,   1.25,
                   0, 0.625,    -0.75,    2.25,    0.75,    1.3125,   -2.25,    -1,    0}),
              4),
      kSmall);
}

TEST(DeformRows, WithoutOffsetsAreTheWindows) {
  Values x = f32({1, 1, 1, 3}, {1, 2, 3}), none = f32({1, 4, 1, 2}, std::vector<double>(8, 0));
  expect_close(run_op1("deform_rows", {x, none}, {{"kernel_shape", Ints{1, 2}}}),
               f32({1, 1, 1, 2, 2, 1}, {1, 2, 2, 3}));
  Values line = f32({1, 1, 4}, {1, 2, 3, 4}), zeros = f32({1, 2, 2}, {0, 0, 0, 0});
  expect_close(run_op1("deform_rows", {line, zeros},
                       {{"kernel_shape", Ints{2}},
                        {"strides", Ints{2}},
                        {"dilations", Ints{2}},
                        {"pads", Ints{1, 0}}}),
               f32({1, 1, 2, 2, 1}, {0, 2, 2, 4}));
}

// Channels 0 to 5 in three groups of two; offsets for 0 to 2 and for 3 to 5, the latter a cell on.
TEST(DeformRows, CutsRowsIntoBlocksOfOneGroup) {
  Values x = f32({1, 6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Values offset = f32({1, 2, 2}, {0, 0, 1, 1});
  const Attrs attrs{{"kernel_shape", Ints{1}}, {"offset_group", 2}, {"group", 3}};
  expect_close(run_op1("deform_rows", {x, offset}, attrs),
               f32({1, 3, 2, 2, 1}, {1, 3, 2, 4, 5, 8, 6, 0, 10, 12, 0, 0}));
}

TEST(DeformRows, TakesEmptyTensors) {
  EXPECT_TRUE(run_op1("deform_rows", {f32({0, 1, 2, 2}, {}), f32({0, 2, 2, 2}, {})},
                      {{"kernel_shape", Ints{1, 1}}})
                  .values.empty());
}

TEST(DeformRowsInfer, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({1, 2, 4, 4}), offset = f32_type({1, 8, 3, 3});
  EXPECT_EQ(infer("deform_rows", {x, offset}, {{"kernel_shape", Ints{2, 2}}}), "f32[1,1,3,3,4,2]");
  EXPECT_EQ(infer("deform_rows", {x, f32_type({1, 4, 3, 3})}, {{"kernel_shape", Ints{2, 2}}}),
            "deform_rows: offset is f32[1,4,3,3], expected the shape [1,8,3,3] (x f32[1,2,4,4], "
            "offset f32[1,4,3,3])");
  EXPECT_EQ(
      infer("deform_rows", {x, offset, f32_type({1, 1, 3, 3})}, {{"kernel_shape", Ints{2, 2}}}),
      "deform_rows: mask is f32[1,1,3,3], expected the shape [1,4,3,3] (x f32[1,2,4,4], "
      "offset f32[1,8,3,3])");
  EXPECT_EQ(infer("deform_rows", {x, offset}, {{"kernel_shape", Ints{2, 2}}, {"offset_group", 3}}),
            "deform_rows: the channels do not divide into 3 groups of offsets (x f32[1,2,4,4], "
            "offset f32[1,8,3,3])");
  EXPECT_EQ(infer("deform_rows", {x, offset}, {{"kernel_shape", Ints{2, 2}}, {"group", 3}}),
            "deform_rows: the channels do not divide into 3 groups (x f32[1,2,4,4], offset "
            "f32[1,8,3,3])");
  EXPECT_EQ(infer("deform_rows", {x, offset}, {{"kernel_shape", Ints{}}}),
            "deform_rows: kernel_shape has 0 entries, expected 1 to 3");
}

TEST(Col2Im, AddsOverlappingBlocks) {
  expect_close(run_op1("col2im", {pattern({1, 8, 6})},
                       {{"image_shape", Ints{3, 4}}, {"block_shape", Ints{2, 2}}}),
               f32({1, 2, 3, 4}, {-5, 6, -2, -4, 7, 2, -3, -2, 1, -4, -1, 2,
                                  -2, 1, 4,  -1, 2, 3, -2, -7, 4, 2,  -6, 5}));
  expect_close(run_op1("col2im", {pattern({1, 6, 6})},
                       {{"image_shape", Ints{5, 5}},
                        {"block_shape", Ints{2, 3}},
                        {"dilations", Ints{2, 1}},
                        {"pads", Ints{1, 0, 1, 0}},
                        {"strides", Ints{2, 2}}}),
               f32({1, 1, 5, 5}, {0, 0, 0, 0, 0,  -2, -6, 2, 8, 4, 0, 0, 0,
                                  0, 0, 4, 0, -8, -8, -1, 0, 0, 0, 0, 0}));
}

TEST(Col2Im, WrapsIntegersAround) {
  EXPECT_EQ(run_op1("col2im", {tensor(DType::kU8, {1, 2, 2}, {200, 100, 90, 80})},
                    {{"image_shape", Ints{3}}, {"block_shape", Ints{2}}})
                .values,
            (std::vector<double>{200, 190, 80}));
}

TEST(Col2ImInfer, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({1, 8, 6});
  EXPECT_EQ(infer("col2im", {x}, {{"image_shape", Ints{3, 4}}, {"block_shape", Ints{2, 3}}}),
            "col2im: x must be [n, c * 6, 4] for these blocks (x f32[1,8,6])");
  EXPECT_EQ(infer("col2im", {x}, {{"image_shape", Ints{3}}, {"block_shape", Ints{2, 2}}}),
            "col2im: image_shape has 1 entries and block_shape 2, expected equally many, 1 to 14");
  EXPECT_EQ(infer("col2im", {x}, {{"image_shape", Ints{1, 4}}, {"block_shape", Ints{2, 2}}}),
            "col2im: a window that reaches over 2 does not fit into 1 padded by 0 and 0");
}

}  // namespace
}  // namespace byoc::testing
