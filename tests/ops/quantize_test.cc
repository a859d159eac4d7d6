// SPDX-License-Identifier: Apache-2.0
// quantize and dequantize. Expected values: ONNX opset 13, the texts and the examples of
// QuantizeLinear and DequantizeLinear; the others by hand from their formulas.
#include <limits>

#include "support/run_op.h"

namespace byoc::testing {
namespace {

using List = std::vector<double>;

List quantized(DType to, List x, double scale, double zero_point) {
  auto n = static_cast<int64_t>(x.size());
  return run_op1("quantize",
                 {f32({n}, std::move(x)), f32({}, {scale}), tensor(to, {}, {zero_point})})
      .values;
}

TEST(Quantize, IsOnnxsExample) {
  EXPECT_EQ(quantized(DType::kU8, {0, 2, 3, 1000, -254, -1000}, 2, 128),
            (List{128, 129, 130, 255, 1, 0}));
}

TEST(Quantize, RoundsHalvesToEvenBeforeTheZeroPoint) {
  EXPECT_EQ(quantized(DType::kI8, {0.5, 1.5, 2.5, -0.5, -1.5}, 1, 1), (List{1, 3, 3, 1, -1}));
}

TEST(Quantize, SaturatesAndMakesNanZero) {
  const double inf = std::numeric_limits<double>::infinity(), nan = inf - inf;
  EXPECT_EQ(quantized(DType::kI8, {inf, -inf, nan, 1e30, -1e30}, 0.5, 3),
            (List{127, -128, 0, 127, -128}));
  EXPECT_EQ(quantized(DType::kU16, {65535, 65536, -1}, 1, 0), (List{65535, 65535, 0}));
  EXPECT_EQ(quantized(DType::kI16, {-32768, -40000, 40000}, 1, 0), (List{-32768, -32768, 32767}));
}

// The example "axis" of ONNX's QuantizeLinear.
TEST(Quantize, HasAScalePerEntryOfAnAxis) {
  List x = {-162, 10, -100, 232, -20,  -50,  -76,  0,    0,
            252,  32, -44,  245, -485, -960, -270, -375, -470};
  List y = {3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102};
  EXPECT_EQ(run_op1("quantize", {f32({1, 3, 3, 2}, x), f32({3}, {2, 4, 5}),
                                 tensor(DType::kU8, {3}, {84, 24, 196})})
                .values,
            y);
}

TEST(Dequantize, IsOnnxsExample) {
  EXPECT_EQ(run_op1("dequantize", {tensor(DType::kU8, {4}, {0, 3, 128, 255}), f32({}, {2}),
                                   tensor(DType::kU8, {}, {128})})
                .values,
            (List{-256, -250, 0, 254}));
}

TEST(Dequantize, HasAScalePerEntryOfAnAxis) {
  EXPECT_EQ(run_op1("dequantize",
                    {tensor(DType::kI8, {2, 3}, {1, 2, 3, -128, 127, 0}), f32({2}, {0.5, 4}),
                     tensor(DType::kI8, {2}, {1, -1})},
                    {{"axis", -2}})
                .values,
            (List{0, 0.5, 1, -508, 512, 4}));
}

TEST(Dequantize, ScalesI32WithoutAZeroPoint) {
  EXPECT_EQ(
      run_op1("dequantize", {tensor(DType::kI32, {2}, {-100000, 7}), f32({1}, {0.25})}).values,
      (List{-25000, 1.75}));
}

TEST(Quantize, RefusesOtherTypes) {
  EXPECT_THAT(infer("quantize",
                    {type_of(DType::kF64, {2}), type_of(DType::kF32, {}), type_of(DType::kU8, {})}),
              ::testing::HasSubstr("quantize: x is f64[2], expects one of f32"));
  EXPECT_THAT(infer("quantize", {type_of(DType::kF32, {2}), type_of(DType::kF32, {}),
                                 type_of(DType::kI32, {})}),
              ::testing::HasSubstr("zero_point is i32[]"));
  EXPECT_THAT(infer("dequantize",
                    {type_of(DType::kU8, {2}), type_of(DType::kF32, {}), type_of(DType::kI8, {})}),
              ::testing::HasSubstr("zero_point is i8[], expects one of u8"));
}

TEST(Quantize, RefusesScalesThatDoNotFit) {
  EXPECT_THAT(
      infer("quantize",
            {type_of(DType::kF32, {2, 3}), type_of(DType::kF32, {2}), type_of(DType::kU8, {2})}),
      ::testing::HasSubstr("scale is f32[2], expects one value or 3, one per entry of dim 1"));
  EXPECT_THAT(infer("dequantize", {type_of(DType::kU8, {2, 3}), type_of(DType::kF32, {3}),
                                   type_of(DType::kU8, {})}),
              ::testing::HasSubstr("scale is f32[3] and zero_point u8[], expects one shape"));
  EXPECT_THAT(
      infer("dequantize", {type_of(DType::kU8, {2, 3}), type_of(DType::kF32, {3})}, {{"axis", 2}}),
      ::testing::HasSubstr("axis 2 is outside"));
}

}  // namespace
}  // namespace byoc::testing
