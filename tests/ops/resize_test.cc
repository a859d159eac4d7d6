// SPDX-License-Identifier: Apache-2.0
// resize. Expected values: torch 1.13 (nn.functional.interpolate) in f64 on the same patterns,
// unless a comment names another source.
#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

Values resized(const Values& x, Ints sizes, const char* mode, const char* coordinates,
               Attrs more = {}) {
  more.set("sizes", std::move(sizes));
  more.set("mode", mode);
  more.set("coordinates", coordinates);
  return run_op1("resize", {x}, std::move(more));
}

TEST(Resize, InterpolatesLinearly) {
  expect_near(resized(pattern({1, 1, 3, 4}), {1, 1, 5, 3}, "linear", "half_pixel"),
              f32({1, 1, 5, 3}, {-3.833333, 0, 3.833333, -2.166667, 0.2, 2.566667, 0.3333333, 0.5,
                                 0.6666667, -1.566667, 0.8, -2.333333, -2.833333, 1, -4.333333}),
              kSmall);
  expect_near(resized(pattern({1, 1, 3, 4}), {1, 1, 5, 3}, "linear", "align_corners"),
              f32({1, 1, 5, 3}, {-5, 0, 5, -2, 0.25, 2.5, 1, 0.5, 0, -1.5, 0.75, -2.5, -4, 1, -5}),
              kSmall);
}

TEST(Resize, InterpolatesOverThreeDims) {
  // pytorch_half_pixel differs from half_pixel at extents of 1 only.
  expect_near(resized(pattern({1, 1, 2, 2, 3}), {1, 1, 3, 1, 4}, "linear", "half_pixel"),
              f32({1, 1, 3, 1, 4}, {0, 0.9375, 0, -2.5, 1.75, 0.96875, -1, -3.5, 3.5, 1, -2, -4.5}),
              kSmall);
  expect_near(resized(f32({2}, {3, 5}), {1}, "linear", "pytorch_half_pixel"), f32({1}, {3}),
              kSmall);
}

TEST(Resize, InterpolatesWithCubics) {
  expect_near(
      resized(pattern({1, 1, 3, 4}), {1, 1, 5, 3}, "cubic", "half_pixel"),
      f32({1, 1, 5, 3}, {-4.332037, -0.048, 4.236037, -2.051977, 0.08375, 3.04631, 0.3043981, 0.5,
                         0.6956019, -1.367977, 1.473125, -2.713856, -3.236037, 2.17825, -4.993704}),
      kSmall);
  expect_near(resized(pattern({1, 1, 3, 4}), {1, 1, 5, 3}, "cubic", "align_corners"),
              f32({1, 1, 5, 3}, {-5, 0, 5, -1.53125, 0.1064453, 2.96875, 1, 0.5, 0, -0.9375, 1.3125,
                                 -2.96875, -4, 2.03125, -5}),
              kSmall);
}

TEST(Resize, TakesTheNearestCell) {
  expect_close(
      resized(pattern({1, 1, 3, 4}), {1, 1, 5, 3}, "nearest", "asymmetric", {{"nearest", "floor"}}),
      f32({1, 1, 5, 3}, {-5, 2, -2, -5, 2, -2, 1, -3, 4, 1, -3, 4, -4, 3, -1}));
  // Expected values: torch's mode nearest-exact.
  expect_close(resized(pattern({1, 1, 3, 5}), {1, 1, 2, 3}, "nearest", "half_pixel",
                       {{"nearest", "round_prefer_ceil"}}),
               f32({1, 1, 2, 3}, {-5, -2, 1, -1, 2, 5}));
}

TEST(Resize, RoundsFourWays) {
  // Calculated by hand: two cells become four, at the positions 0, 1/2, 1 and 3/2 (asymmetric).
  auto doubled = [](const char* nearest) {
    return resized(i64({2}, {10, 20}), {4}, "nearest", "asymmetric", {{"nearest", nearest}}).values;
  };
  EXPECT_EQ(doubled("round_prefer_floor"), (std::vector<double>{10, 10, 20, 20}));
  EXPECT_EQ(doubled("round_prefer_ceil"), (std::vector<double>{10, 20, 20, 20}));
  EXPECT_EQ(doubled("floor"), (std::vector<double>{10, 10, 20, 20}));
  EXPECT_EQ(doubled("ceil"), (std::vector<double>{10, 20, 20, 20}));
}

TEST(Resize, PlacesCellsByScalesWhenBothAreGiven) {
  // 3 cells times 0.8 are 2; cell 1 is at position 1 / 0.8 = 1.25, not at 1 / (2 / 3) = 1.5.
  Values y = resized(f32({3}, {0, 4, 8}), {2}, "linear", "asymmetric", {{"scales", Floats{0.8}}});
  expect_near(y, f32({2}, {0, 5}), kSmall);
}

TEST(Resize, CropsAndExtrapolates) {
  // The range -0.5 to 1.5 of three cells, in five steps: positions -1, 0, 1, 2, 3.
  Attrs crop = {{"roi", Floats{-0.5, 1.5}}, {"extrapolation_value", 9.0}};
  expect_near(resized(f32({3}, {1, 2, 3}), {5}, "linear", "tf_crop_and_resize", crop),
              f32({5}, {9, 1, 2, 3, 9}), kSmall);
  expect_close(resized(i64({3}, {1, 2, 3}), {5}, "nearest", "tf_crop_and_resize", crop),
               i64({5}, {9, 1, 2, 3, 9}));
}

TEST(Resize, ReadsNoRegionUnlessItCrops) {
  Values x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  Attrs short_list = {{"roi", Floats{0.25}}};
  expect_near(resized(x, {1, 1, 2, 2}, "linear", "half_pixel", short_list), x, 0);
}

TEST(Resize, LeavesOutTapsOutsideOfTheInput) {
  // Position 1/4 - 1/2 is between cells -1 and 0. Without cell -1 all the weight is on cell 0, and
  // for cubics also on cells 1 and 2.
  Values y = resized(f32({2}, {3, 5}), {4}, "linear", "half_pixel", {{"exclude_outside", true}});
  expect_near(y, f32({4}, {3, 3.5, 4.5, 5}), kSmall);
}

TEST(Resize, TakesEmptyTensors) {
  EXPECT_EQ(resized(pattern({0, 2}), {0, 4}, "linear", "half_pixel").type, f32_type({0, 4}));
  EXPECT_EQ(resized(pattern({2, 2}), {0, 4}, "cubic", "half_pixel").type, f32_type({0, 4}));
}

TEST(ResizeInfer, ComputesExtents) {
  Dim n = Dim::symbol("N");
  EXPECT_EQ(infer("resize", {f32_type({n, 3, 5, 7})}, {{"scales", Floats{1, 1, 2, 0.5}}}),
            "f32[N,3,10,3]");
  EXPECT_EQ(infer("resize", {f32_type({2, 3})}, {{"sizes", Ints{4, 9}}}), "f32[4,9]");
  EXPECT_EQ(infer("resize", {type_of(DType::kBool, {2})}, {{"sizes", Ints{4}}}), "bool[4]");
}

TEST(ResizeInfer, RejectsWhatDoesNotFit) {
  auto error = [](const Shape& x, Attrs attrs) {
    return infer("resize", {f32_type(x)}, std::move(attrs));
  };
  EXPECT_EQ(error({2}, {}), "resize: neither sizes nor scales are given (x f32[2])");
  EXPECT_EQ(error({2}, {{"sizes", Ints{1, 2}}}),
            "resize: sizes has 2 entries, expected 1 (x f32[2])");
  EXPECT_EQ(error({2}, {{"scales", Floats{1, 2}}}),
            "resize: scales has 2 entries, expected 1 (x f32[2])");
  EXPECT_EQ(error({2}, {{"sizes", Ints{-1}}}), "resize: sizes holds -1 (x f32[2])");
  EXPECT_EQ(error({2}, {{"scales", Floats{0}}}),
            "resize: scale 0 of dim 0 is not positive (x f32[2])");
  EXPECT_EQ(error({2}, {{"scales", Floats{1e30}}}),
            "resize: dim 0 times 1e+30 does not fit in 63 bits (x f32[2])");
  EXPECT_EQ(error({0}, {{"sizes", Ints{2}}}), "resize: dim 0 has no cells (x f32[0])");
  EXPECT_EQ(error({Dim::symbol("N")}, {{"sizes", Ints{2}}}),
            "resize: dim 0 must be known (x f32[N])");
  EXPECT_EQ(error({Dim::symbol("N")}, {{"scales", Floats{2}}}),
            "resize: dim 0 must be known (x f32[N])");
  EXPECT_EQ(error({2}, {{"sizes", Ints{2}}, {"mode", "area"}}),
            "resize: mode is \"area\" (x f32[2])");
  EXPECT_EQ(error({2}, {{"sizes", Ints{2}}, {"coordinates", "centre"}}),
            "resize: coordinates is \"centre\" (x f32[2])");
  EXPECT_EQ(error({2}, {{"sizes", Ints{2}}, {"nearest", "up"}}),
            "resize: nearest is \"up\" (x f32[2])");
  EXPECT_EQ(error({2}, {{"sizes", Ints{2}}, {"coordinates", "tf_crop_and_resize"}}),
            "resize: roi has 0 entries, expected 2 (x f32[2])");
  EXPECT_EQ(
      error(
          {2},
          {{"sizes", Ints{2}}, {"scales", Floats{1e-30}}, {"mode", "linear"}, {"antialias", true}}),
      "resize: antialias with a scale of 1e-30 (x f32[2])");
  EXPECT_EQ(infer("resize", {type_of(DType::kI32, {2})}, {{"sizes", Ints{2}}, {"mode", "linear"}}),
            "resize: x is i32[2], expects one of f32 f64 f16 bf16");
}

TEST(Resize, CountsTapsOfTheDimsThatChange) {
  TypeId in[] = {f32_type({1, 3, 4, 4})}, out[] = {f32_type({1, 3, 8, 8})};
  const OpDef& op = *all_ops().find("resize");
  EXPECT_EQ(flops(op, in, out, {{"mode", "linear"}}), 192.0 * 2 * 4);
  EXPECT_EQ(flops(op, in, out, {{"mode", "cubic"}}), 192.0 * 2 * 16);
  EXPECT_EQ(flops(op, in, out, {{"mode", "nearest"}}), 0);
}

// torch divides by the weights inside of the image, as exclude_outside does, and its cubic kernel
// has a = -0.5. Expected values: torch 1.13 (nn.functional.interpolate with antialias) in f64.
TEST(Resize, WidensItsKernelWhereItShrinks) {
  Attrs attrs{{"sizes", Ints{1, 1, 3, 4}},
              {"mode", "linear"},
              {"antialias", true},
              {"exclude_outside", true}};
  expect_near(
      run_op1("resize", {pattern({1, 1, 8, 8})}, attrs),
      f32({1, 1, 3, 4}, {-0.4661654, -0.3256579, 0.0690789, 0.9022556, -0.4285714, -0.0744048,
                         0.3720238, 0.0714286, -0.3909774, 0.6282895, -0.2796053, -0.7593985}),
      2e-6);
  attrs.set("mode", "cubic");
  attrs.set("cubic_coeff_a", -0.5);
  expect_near(
      run_op1("resize", {pattern({1, 1, 8, 8})}, attrs),
      f32({1, 1, 3, 4}, {-0.4207908, -0.3168496, 0.0200291, 0.9668533, -0.4434333, -0.1747063,
                         0.4806884, -0.0066738, -0.5343686, 0.8664581, -0.3981939, -0.7675828}),
      2e-6);
}

TEST(Resize, AntialiasChangesNothingWhereItGrows) {
  Attrs plain{{"sizes", Ints{7, 5}}, {"mode", "linear"}}, smooth = plain;
  smooth.set("antialias", true);
  Values x = pattern({3, 4});
  expect_close(run_op1("resize", {x}, smooth), run_op1("resize", {x}, plain));
}

TEST(ResizeInfer, RejectsAntialiasOfTheNearestCell) {
  EXPECT_EQ(infer("resize", {f32_type({4})}, {{"sizes", Ints{2}}, {"antialias", true}}),
            "resize: antialias requires the mode linear or cubic (x f32[4])");
}

}  // namespace
}  // namespace byoc::testing
