// SPDX-License-Identifier: Apache-2.0
// Pooling. Expected values: torch 1.13 (max_pool*, avg_pool*, lp_pool2d) in f64 on the same
// patterns, unless a comment names another source.
#include <cmath>
#include <limits>
#include <numeric>

#include "pattern.h"

namespace byoc::testing {
namespace {

Values image() { return pattern({1, 2, 5, 7}, 7, 13, 6); }
Values counted(const std::vector<int64_t>& dims) {  // 1, 2, ...
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return f32(dims, std::move(values));
}
Values sixths(const std::vector<int64_t>& dims, std::vector<double> values) {
  for (double& value : values) value /= 6;
  return f32(dims, std::move(values));
}

TEST(PoolInfer, ComputesExtents) {
  std::vector<TensorType> x = {f32_type({Dim::symbol("N"), 64, 112, 112})};
  EXPECT_EQ(
      infer("max_pool", x,
            {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}),
      "f32[N,64,56,56]");
  EXPECT_EQ(infer("average_pool", {f32_type({1, 2, 9})}, {{"kernel_shape", Ints{2}}}),
            "f32[1,2,8]");
  EXPECT_EQ(
      infer("max_pool", {f32_type({1, 2, 9})}, {{"kernel_shape", Ints{2}}, {"with_indices", true}}),
      "f32[1,2,8] i64[1,2,8]");
}

TEST(PoolInfer, RoundsUpWithCeilModeButDropsWindowsThatStartInThePadding) {
  auto extents = [](int64_t in, int64_t kernel, int64_t stride, int64_t pad) {
    return infer("max_pool", {f32_type({1, 1, in})},
                 {{"kernel_shape", Ints{kernel}},
                  {"strides", Ints{stride}},
                  {"pads", Ints{pad, pad}},
                  {"ceil_mode", true}});
  };
  EXPECT_EQ(extents(6, 3, 2, 0), "f32[1,1,3]");
  EXPECT_EQ(extents(7, 2, 3, 1), "f32[1,1,3]");  // a fourth window would start at 8
}

TEST(PoolInfer, RefusesWindowsThatStartBeyondTheImage) {
  EXPECT_EQ(infer("max_pool", {f32_type({1, 1, 2})},
                  {{"kernel_shape", Ints{5}}, {"strides", Ints{3}}, {"ceil_mode", true}}),
            "max_pool: a window that reaches over 5 does not fit into 2 padded by 0 and 0");
  EXPECT_EQ(infer("max_pool", {f32_type({1, 1, 1})},
                  {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"ceil_mode", false}}),
            "max_pool: a window that reaches over 2 does not fit into 1 padded by 0 and 0");
}

// Shortcuts of ResNet-D. Source: ONNX Runtime 1.32 on an image of 1, 2, ...; `counted`: with
// count_include_pad.
TEST(Pool, RoundsUpToAWindowThatIsLargerThanTheImage) {
  struct Case {
    std::vector<int64_t> x;
    Ints kernel, strides, pads;
    std::vector<double> average, counted, most, lp;
  };
  const double two = std::sqrt(5);  // of 1 and 2
  const Case cases[] = {
      {{1, 1, 1, 1}, {2, 2}, {2, 2}, {}, {1}, {1}, {1}, {1}},
      {{1, 1, 1, 1}, {2, 2}, {2, 2}, {1, 0, 0, 0}, {1}, {0.5}, {1}, {1}},
      {{1, 2, 1}, {2}, {2}, {}, {1, 2}, {1, 2}, {1, 2}, {1, 2}},
      {{1, 1, 2}, {4}, {3}, {}, {1.5}, {1.5}, {2}, {two}},
      {{1, 1, 2}, {4}, {3}, {0, 1}, {1.5}, {1}, {2}, {two}},
      {{1, 1, 1}, {4}, {3}, {1, 1}, {1}, {1.0 / 3}, {1}, {1}},
      {{1, 1, 1, 3}, {3, 2}, {3, 2}, {}, {1.5, 3}, {1.5, 3}, {2, 3}, {two, 3}},
      {{1, 1, 1, 3, 1}, {2, 2, 2}, {2, 2, 2}, {}, {1.5, 3}, {1.5, 3}, {2, 3}, {two, 3}},
  };
  for (const Case& one : cases) {
    const Values x = counted(one.x);
    std::vector<int64_t> y = one.x;
    std::fill(y.begin() + 2, y.end(), 1);
    if (one.average.size() == 2 && y[1] == 1) y[3] = 2;
    Attrs attrs{{"kernel_shape", one.kernel}, {"strides", one.strides}, {"ceil_mode", true}};
    attrs.set("pads", one.pads);
    expect_close(run_op1("max_pool", {x}, attrs), f32(y, one.most));
    expect_close(run_op1("lp_pool", {x}, attrs), f32(y, one.lp));
    expect_close(run_op1("average_pool", {x}, attrs), f32(y, one.average));
    attrs.set("count_include_pad", true);
    expect_close(run_op1("average_pool", {x}, attrs), f32(y, one.counted));
  }
}

TEST(PoolInfer, RejectsWhatDoesNotFit) {
  std::vector<TensorType> x = {f32_type({1, 2, 9})};
  EXPECT_EQ(infer("max_pool", {f32_type({1, 2})}, {{"kernel_shape", Ints{}}}),
            "max_pool: x has rank 2, expects 3 to 5 (x f32[1,2])");
  EXPECT_EQ(infer("max_pool", x, {{"kernel_shape", Ints{2, 2}}}),
            "max_pool: kernel_shape has 2 entries, expected 1 (x f32[1,2,9])");
  EXPECT_EQ(infer("max_pool", x, {{"kernel_shape", Ints{0}}}),
            "max_pool: the kernel's extent 0 is not at least 1 and less than 2^31");
  EXPECT_EQ(infer("average_pool", x, {{"kernel_shape", Ints{2}}, {"pads", Ints{0, 2}}}),
            "average_pool: pads 2 hold a whole window, which reaches over 2");
  EXPECT_EQ(
      infer("max_pool", {type_of(DType::kBool, {1, 2, 9})}, {{"kernel_shape", Ints{2}}}),
      "max_pool: x is bool[1,2,9], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
  EXPECT_EQ(infer("average_pool", {type_of(DType::kI8, {1, 2, 9})}, {{"kernel_shape", Ints{2}}}),
            "average_pool: x is i8[1,2,9], expects one of f32 f64 f16 bf16");
  EXPECT_EQ(infer("lp_pool", x, {{"kernel_shape", Ints{2}}, {"p", 0}}),
            "lp_pool: p is 0, expected at least 1");
  EXPECT_EQ(infer("max_pool", {f32_type({1, 2, Dim::symbol("W")})}, {{"kernel_shape", Ints{2}}}),
            "max_pool: a window that reaches over 2 needs an extent of 2, and W may be 0");
}

TEST(MaxPool, FindsValuesAndTheirPlaces) {
  auto y = run_op("max_pool", {image()},
                  {{"kernel_shape", Ints{2, 3}},
                   {"strides", Ints{2, 2}},
                   {"pads", Ints{1, 1, 1, 1}},
                   {"with_indices", true}});
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  expect_close((*y)[0], f32({1, 2, 3, 4}, {1, 2, 3, 3, 4, 5, 6, 4, 5, 6, 6, 4,
                                           5, 6, 1, 1, 6, 6, 4, 5, 6, 4, 5, 5}));
  // Indices of torch are within a plane of 35 cells, those of ONNX are within the whole of x.
  expect_close((*y)[1], i64({1, 2, 3, 4}, {1,       3,       5,       5,       7,       9,
                                           11,      20,      22,      24,      24,      33,
                                           35 + 0,  35 + 2,  35 + 5,  35 + 5,  35 + 15, 35 + 15,
                                           35 + 11, 35 + 13, 35 + 28, 35 + 24, 35 + 26, 35 + 26}));
}

TEST(MaxPool, DilatesAndRoundsUp) {
  Values y = run_op1("max_pool", {image()},
                     {{"kernel_shape", Ints{3, 3}},
                      {"strides", Ints{2, 2}},
                      {"dilations", Ints{1, 2}},
                      {"ceil_mode", true}});
  expect_close(y, f32({1, 2, 2, 2}, {6, 6, 3, 4, 6, 6, 6, 2}));
}

TEST(MaxPool, WorksOverOneAndThreeDims) {
  expect_close(run_op1("max_pool", {pattern({2, 2, 7}, 7, 13, 6)},
                       {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}}),
               f32({2, 2, 4}, {1, 2, 3, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 6, 1}));
  expect_close(run_op1("max_pool", {pattern({1, 1, 3, 3, 4}, 7, 13, 6)},
                       {{"kernel_shape", Ints{2, 2, 2}}, {"strides", Ints{1, 1, 2}}}),
               f32({1, 1, 2, 2, 2}, {3, 4, 5, 6, 6, 3, 4, 5}));
}

TEST(MaxPool, CountsPlacesColumnByColumn) {
  // Source: ONNX's test maxpool_with_argmax_2d_precomputed_strides. x is 1..25 in a 5 x 5 image.
  auto y = run_op("max_pool", {pattern({1, 1, 5, 5}, 1, 100, -1)},
                  {{"kernel_shape", Ints{2, 2}},
                   {"strides", Ints{2, 2}},
                   {"storage_order", 1},
                   {"with_indices", true}});
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  expect_close((*y)[0], f32({1, 1, 2, 2}, {7, 9, 17, 19}));
  expect_close((*y)[1], i64({1, 1, 2, 2}, {6, 16, 8, 18}));
}

TEST(MaxPool, PadsIntegersWithTheirLowestValue) {
  Values x = tensor(DType::kI8, {1, 1, 3}, {-128, -127, -5});
  Attrs attrs = {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 1}}};
  EXPECT_EQ(run_op1("max_pool", {x}, attrs).values, (std::vector<double>{-128, -127, -5, -5}));
}

TEST(MaxPool, LetsANanWin) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Values y = run_op1("max_pool", {f32({1, 1, 5}, {1, nan, 3, 4, 5})}, {{"kernel_shape", Ints{2}}});
  expect_close(y, f32({1, 1, 4}, {nan, nan, 4, 5}));
}

TEST(AveragePool, LeavesPaddingOut) {
  Values y =
      run_op1("average_pool", {image()},
              {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 1}}});
  expect_close(y, sixths({1, 2, 3, 3},
                         {-6, 1.5, -9, 6, 7, -10, -21, 6, -4.5, 21, 9, -1.5, -6, -5, 4, 6, -6, 3}));
}

TEST(AveragePool, CountsPaddingButNotWhatLiesBeyondIt) {
  Values y = run_op1("average_pool", {image()},
                     {{"kernel_shape", Ints{3, 2}},
                      {"strides", Ints{2, 3}},
                      {"pads", Ints{1, 1, 1, 1}},
                      {"ceil_mode", true},
                      {"count_include_pad", true}});
  expect_close(
      y, sixths({1, 2, 3, 3}, {-2, 1, -6, 3, 7, -10, -7, 4, -3, 7, 6, -1, -3, -5, 4, 2, -4, 2}));
  Values beyond = run_op1("average_pool", {pattern({1, 1, 6})},
                          {{"kernel_shape", Ints{3}},
                           {"strides", Ints{2}},
                           {"ceil_mode", true},
                           {"count_include_pad", true}});
  expect_close(beyond, f32({1, 1, 3}, {-5.0 / 3, 4.0 / 3, -1}));
}

TEST(AveragePool, WorksOverOneAndThreeDims) {
  Values y = run_op1("average_pool", {pattern({2, 2, 7}, 7, 13, 6)},
                     {{"kernel_shape", Ints{3}},
                      {"strides", Ints{2}},
                      {"pads", Ints{1, 1}},
                      {"count_include_pad", true}});
  for (double& value : y.values) value *= 3;
  expect_close(y, f32({2, 2, 4}, {-5, -2, 1, 0, 2, 2, 5, -6, -4, -7, -4, 1, 3, 10, 0, -5}));
  expect_close(run_op1("average_pool", {pattern({1, 1, 3, 3, 4}, 7, 13, 6)},
                       {{"kernel_shape", Ints{2, 3, 2}}, {"strides", Ints{2, 3, 2}}}),
               f32({1, 1, 1, 1, 2}, {-9.0 / 12, 3.0 / 12}));
}

TEST(LpPool, TakesTheRootOfTheSumOfPowers) {
  Values y = run_op1("lp_pool", {pattern({1, 1, 4, 4})},
                     {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  expect_close(y, f32({1, 1, 2, 2}, {std::sqrt(39), std::sqrt(45), std::sqrt(33), std::sqrt(52)}));
  Values sums = run_op1("lp_pool", {pattern({1, 1, 5})}, {{"kernel_shape", Ints{5}}, {"p", 1}});
  expect_close(sums, f32({1, 1, 1}, {5 + 2 + 2 + 5 + 1}));
}

TEST(GlobalPool, GivesOneValueAPlane) {
  expect_close(run_op1("global_average_pool", {image()}),
               f32({1, 2, 1, 1}, {-10.0 / 35, -2.0 / 35}));
  expect_close(run_op1("global_max_pool", {image()}), f32({1, 2, 1, 1}, {6, 6}));
  expect_close(run_op1("global_lp_pool", {f32({1, 1, 2}, {3, -4})}), f32({1, 1, 1}, {5}));
  expect_close(run_op1("global_average_pool", {f32({1, 2}, {3, -4})}), f32({1, 2}, {3, -4}));
}

TEST(GlobalPool, KeepsSymbolicBatchesAndTakesSymbolicPlanes) {
  Dim n = Dim::symbol("N"), h = Dim::symbol("H");
  EXPECT_EQ(infer("global_average_pool", {f32_type({n, 3, h, 4})}), "f32[N,3,1,1]");
}

TEST(GlobalPool, RejectsWhatHasNoPlanes) {
  EXPECT_EQ(infer("global_average_pool", {f32_type({3})}),
            "global_average_pool: x has rank 1, expects at least 2 (x f32[3])");
  EXPECT_EQ(infer("global_max_pool", {f32_type({1, 2, 0})}),
            "global_max_pool: a plane without cells has no maximum (x f32[1,2,0])");
  EXPECT_EQ(infer("global_max_pool", {type_of(DType::kI32, {1, 2, 3})}),
            "global_max_pool: x is i32[1,2,3], expects one of f32 f64 f16 bf16");
  EXPECT_EQ(infer("global_lp_pool", {f32_type({1, 2, 3})}, {{"p", 0}}),
            "global_lp_pool: p is 0, expected at least 1");
}

TEST(Pool, TakesEmptyBatches) {
  EXPECT_EQ(run_op1("max_pool", {pattern({0, 2, 5})}, {{"kernel_shape", Ints{2}}}).type,
            f32_type({0, 2, 4}));
  EXPECT_EQ(run_op1("average_pool", {pattern({1, 0, 5})}, {{"kernel_shape", Ints{2}}}).type,
            f32_type({1, 0, 4}));
  EXPECT_EQ(run_op1("global_max_pool", {pattern({0, 2, 5})}).type, f32_type({0, 2, 1}));
}

TEST(Pool, CountsATapAsOneOperation) {
  TypeId in[] = {f32_type({1, 2, 9, 9})}, out[] = {f32_type({1, 2, 7, 7})},
         one[] = {f32_type({1, 2, 1, 1})};
  const OpDef& pool = *all_ops().find("max_pool");
  EXPECT_EQ(flops(pool, in, out, {{"kernel_shape", Ints{3, 3}}}), 9.0 * 98);
  EXPECT_EQ(flops(*all_ops().find("global_average_pool"), in, one, {}), 162);
}

}  // namespace
}  // namespace byoc::testing
