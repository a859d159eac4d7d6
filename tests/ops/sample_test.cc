// SPDX-License-Identifier: Apache-2.0
// grid_sample and roi_align. Expected values: torch 1.13 (nn.functional.grid_sample) and
// torchvision 0.14 (ops.roi_align) in f64.
#include <limits>

#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

Values grid() {
  return f32({1, 2, 3, 2}, {-1, -1, 0.3, -0.2, 1.4, 0.9, -1.7, 0.5, 0, 0, 2.9, -3.1});
}
void expect_sampled(const char* mode, const char* padding, bool align,
                    std::vector<double> expected) {
  SCOPED_TRACE(cat(mode, " ", padding, " ", align));
  Attrs attrs = {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}};
  expect_near(run_op1("grid_sample", {pattern({1, 1, 3, 4}), grid()}, attrs),
              f32({1, 1, 2, 3}, std::move(expected)), kSmall);
}

TEST(GridSample, InterpolatesLinearly) {
  expect_sampled("bilinear", "zeros", false, {-1.25, 2.13, 0, 0, 0.5, 0});
  expect_sampled("bilinear", "zeros", true, {-5, 2.56, -1.8, 0, 0.5, 0});
  expect_sampled("bilinear", "border", false, {-5, 2.13, -5, -2.75, 0.5, 5});
  expect_sampled("bilinear", "border", true, {-5, 2.56, -4.5, -1.5, 0.5, 5});
  expect_sampled("bilinear", "reflection", false, {-5, 2.13, -3.8, 1.075, 0.5, -4});
  expect_sampled("bilinear", "reflection", true, {-5, 2.56, -2.1, 0.075, 0.5, -2.615});
}

TEST(GridSample, TakesTheNearestCell) {
  expect_sampled("nearest", "zeros", false, {-5, 4, 0, 0, 4, 0});
  expect_sampled("nearest", "border", true, {-5, 4, -5, -4, 4, 5});
  expect_sampled("nearest", "reflection", true, {-5, 4, -1, 3, 4, -4});
}

TEST(GridSample, InterpolatesWithCubics) {
  expect_sampled("bicubic", "zeros", false, {-1.956055, 3.049262, 0.4288553, 0.02077734, 0.5, 0});
  expect_sampled("bicubic", "zeros", true, {-5, 3.198091, -2.222712, 0.04441992, 0.5, 0});
  expect_sampled("bicubic", "border", false, {-6.31543, 3.113391, -5.554531, -2.65625, 0.5, 5});
  expect_sampled("bicubic", "border", true, {-5, 3.247703, -4.917096, -0.9375, 0.5, 5});
  expect_sampled("bicubic", "reflection", false,
                 {-7.824219, 3.113391, -5.014807, 1.195021, 0.5, -6.251233});
  expect_sampled("bicubic", "reflection", true,
                 {-5, 3.105618, -3.126141, 0.2124463, 0.5, -3.489742});
}

TEST(GridSample, InterpolatesInVolumes) {
  Values x = pattern({1, 1, 2, 3, 4}),
         cells = f32({1, 1, 1, 5, 3},
                     {-1, -1, -1, 0.3, -0.2, 0.5, 1.4, 0.9, -0.1, 0, 0, 0, 0.25, 0.5, -0.75});
  auto expect = [&](const char* padding, bool align, std::vector<double> expected) {
    SCOPED_TRACE(cat(padding, " ", align));
    expect_near(
        run_op1("grid_sample", {x, cells}, {{"padding_mode", padding}, {"align_corners", align}}),
        f32({1, 1, 1, 1, 5}, std::move(expected)), kSmall);
  };
  expect("zeros", false, {-0.625, 1.1, 0, 1.25, 0.1875});
  expect("zeros", true, {-5, 1.4575, -0.738, 1.25, 0.8984375});
  expect("border", false, {-5, 1.1, -2.2, 1.25, 0.25});
  expect("reflection", true, {-5, 1.4575, -2.118, 1.25, 0.8984375});
}

TEST(GridSample, InterpolatesOnLines) {
  Values x = f32({1, 1, 3}, {1, 2, 4}), at = f32({1, 3, 1}, {-1, 0.25, 1});
  expect_close(run_op1("grid_sample", {x, at}, {{"align_corners", true}}),
               f32({1, 1, 3}, {1, 2.5, 4}));
  expect_close(run_op1("grid_sample", {x, at}, {{"align_corners", true}, {"mode", "nearest"}}),
               f32({1, 1, 3}, {1, 2, 4}));
}

TEST(GridSample, StaysInsideWhateverTheGrid) {
  double inf = std::numeric_limits<double>::infinity(),
         nan = std::numeric_limits<double>::quiet_NaN();
  Values far = f32({1, 1, 3, 2}, {inf, 0, -1e30, 1e30, nan, nan});
  expect_close(run_op1("grid_sample", {pattern({1, 1, 3, 4}), far}, {{"mode", "nearest"}}),
               f32({1, 1, 1, 3}, {0, 0, 0}));
  Values border = run_op1("grid_sample", {pattern({1, 1, 3, 4}), far},
                          {{"mode", "nearest"}, {"padding_mode", "border"}});
  EXPECT_EQ(border.values[1], pattern({3, 4}).values[8]);
}

TEST(GridSample, TakesEmptyTensors) {
  EXPECT_EQ(run_op1("grid_sample", {pattern({0, 2, 3, 4}), f32({0, 1, 1, 2}, {})}).type,
            f32_type({0, 2, 1, 1}));
  expect_close(run_op1("grid_sample", {f32({1, 1, 0, 4}, {}), f32({1, 1, 1, 2}, {0, 0})}),
               f32({1, 1, 1, 1}, {0}));
}

TEST(GridSampleInfer, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({2, 3, 5, 5}), g = f32_type({2, 4, 4, 2});
  EXPECT_EQ(infer("grid_sample", {x, g}), "f32[2,3,4,4]");
  EXPECT_EQ(
      infer("grid_sample", {x, f32_type({1, 4, 4, 2})}),
      "grid_sample: grid must be [n, h, w, 2] with x's n (x f32[2,3,5,5], grid f32[1,4,4,2])");
  EXPECT_EQ(infer("grid_sample", {x, f32_type({2, 4, 2})}),
            "grid_sample: grid has rank 3, expects 4 (grid f32[2,4,2])");
  EXPECT_EQ(infer("grid_sample", {f32_type({2, 3}), g}),
            "grid_sample: x has rank 2, expects 3 to 5 (x f32[2,3])");
  EXPECT_EQ(infer("grid_sample", {f32_type({1, 1, 2, 2, 2}), f32_type({1, 1, 1, 1, 2})}),
            "grid_sample: grid must be [n, d, h, w, 3] with x's n (x f32[1,1,2,2,2], grid "
            "f32[1,1,1,1,2])");
  EXPECT_EQ(infer("grid_sample", {x, g}, {{"mode", "cubic"}}),
            "grid_sample: mode is \"cubic\", expected one of bilinear, nearest, bicubic");
  EXPECT_EQ(infer("grid_sample", {x, g}, {{"padding_mode", "edge"}}),
            "grid_sample: padding_mode is \"edge\", expected one of zeros, border, reflection");
}

TEST(RoiAlign, AveragesBinsOfBoxes) {
  Values x = pattern({2, 2, 5, 6}), rois = f32({2, 4}, {0.5, 0.5, 4.5, 3, 2, 1, 9, 7.5}),
         images = i64({2}, {0, 1});
  expect_near(run_op1("roi_align", {x, rois, images},
                      {{"output_height", 2}, {"output_width", 2}, {"spatial_scale", 0.5}}),
              f32({2, 2, 2, 2},
                  {-2.859375, 0.875, 1.046875, -0.375, -1.859375, 1.875, 2.046875, 0.625, 0.5688477,
                   1.319336, -0.4199219, 0.6582031, 1.568848, -1.354492, -1.375, 0.90625}),
              kSmall);
  expect_near(run_op1("roi_align", {x, rois, images},
                      {{"output_height", 2},
                       {"output_width", 1},
                       {"sampling_ratio", 2},
                       {"half_pixel", false}}),
              f32({2, 2, 2, 1}, {-0.1484375, -0.5, -0.0078125, -1.21875, -0.625, 0, -0.2539062, 0}),
              kSmall);
}

// The sample of the only bin is at the centre of the four cells, each of which has the weight 1/4.
TEST(RoiAlign, TakesTheGreatestWeightedCell) {
  EXPECT_EQ(
      run_op1("roi_align",
              {f32({1, 1, 2, 2}, {1, -8, 5, 3}), f32({1, 4}, {0.5, 0.5, 1.5, 1.5}), i64({1}, {0})},
              {{"mode", "max"}, {"sampling_ratio", 1}})
          .values[0],
      1.25);
}

TEST(RoiAlign, StaysInsideWhateverTheBoxes) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Values rois = f32({2, 4}, {-1e30, -1e30, 1e30, 1e30, nan, nan, nan, nan});
  Values y = run_op1("roi_align", {pattern({1, 1, 2, 2}), rois, i64({2}, {0, 0})});
  EXPECT_EQ(y.type, f32_type({2, 1, 1, 1}));
}

TEST(RoiAlign, RefusesImagesThatDoNotExist) {
  for (double image : {-1.0, 2.0}) {
    auto made =
        run_op("roi_align", {pattern({2, 1, 2, 2}), f32({1, 4}, {0, 0, 1, 1}), i64({1}, {image})});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().message(),
              cat("roi_align: index ", image, " is outside of [0, 2), the extent is 2"));
  }
}

TEST(RoiAlignInfer, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({2, 3, 5, 5}), rois = f32_type({7, 4}),
             images = type_of(DType::kI64, {7});
  EXPECT_EQ(infer("roi_align", {x, rois, images}, {{"output_height", 2}, {"output_width", 3}}),
            "f32[7,3,2,3]");
  EXPECT_EQ(
      infer("roi_align", {x, f32_type({7, 5}), images}),
      "roi_align: rois must be [r, 4] and batch_indices [r] (rois f32[7,5], batch_indices i64[7])");
  EXPECT_EQ(
      infer("roi_align", {x, rois, type_of(DType::kI64, {6})}),
      "roi_align: rois must be [r, 4] and batch_indices [r] (rois f32[7,4], batch_indices i64[6])");
  EXPECT_EQ(infer("roi_align", {x, rois, f32_type({7})}),
            "roi_align: batch_indices is f32[7], expects one of i64");
  EXPECT_EQ(infer("roi_align", {x, rois, images}, {{"mode", "min"}}),
            "roi_align: mode is \"min\", expected average or max");
  EXPECT_EQ(infer("roi_align", {x, rois, images}, {{"output_height", 0}}),
            "roi_align: output_height 0, output_width 1 and sampling_ratio 0 must be at least 1, 1 "
            "and 0");
  EXPECT_EQ(infer("roi_align", {f32_type({0, 3, 5, 5}), rois, images}),
            "roi_align: there is no image (x f32[0,3,5,5])");
}

}  // namespace
}  // namespace byoc::testing
