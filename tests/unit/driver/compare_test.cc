#include "core/tools/model/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace byoc::test {
namespace {

using driver::compare_each;
using driver::compare_to_largest;

template <class T>
Tensor tensor(DType dtype, const std::vector<T>& values) {
  auto out = Tensor::make({dtype, {static_cast<int64_t>(values.size())}});
  std::memcpy(out->data(), values.data(), out->size_bytes());
  return *std::move(out);
}

Tensor floats(const std::vector<float>& values) { return tensor(DType::kF32, values); }

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(CompareToLargest, MeasuresErrorsAgainstTheLargestValue) {
  EXPECT_TRUE(compare_to_largest(floats({0.009F, 100}), floats({0, 100}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({0.011F, 100}), floats({0, 100}), 1e-4).is_equal);
}

TEST(CompareToLargest, NamesTheWorstElement) {
  auto difference = compare_to_largest(floats({1, 2, 5}), floats({1, 2.5F, 4}), 1e-4);
  EXPECT_EQ(describe(difference, {DType::kF32, {3}}),
            "max error 1 (0.25 of max), worst [2] 5 instead of 4");
}

TEST(CompareToLargest, TakesNanForNanAndNothingElse) {
  EXPECT_TRUE(compare_to_largest(floats({kNan}), floats({kNan}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({kNan}), floats({1}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({1}), floats({kNan}), 1e-4).is_equal);
}

TEST(CompareToLargest, WantsTheSameInfinities) {
  EXPECT_TRUE(compare_to_largest(floats({kInf, 1}), floats({kInf, 1}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({-kInf, 1}), floats({kInf, 1}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({1e30F, 1}), floats({kInf, 1}), 1e-4).is_equal);
}

TEST(CompareToLargest, ComparesIntegersExactly) {
  auto large = tensor<int64_t>(DType::kI64, {INT64_MAX}),
       less = tensor<int64_t>(DType::kI64, {INT64_MAX - 1});
  EXPECT_TRUE(compare_to_largest(large, large, 1).is_equal);
  EXPECT_FALSE(compare_to_largest(large, less, 1).is_equal);
}

TEST(CompareToLargest, ComparesHalves) {
  // 0x3c00 is 1.0, 0x3c01 the next half: 1 + 2^-10.
  auto one = tensor<uint16_t>(DType::kF16, {0x3c00}),
       next = tensor<uint16_t>(DType::kF16, {0x3c01});
  EXPECT_TRUE(compare_to_largest(next, one, 1.1 / 1024).is_equal);
  EXPECT_FALSE(compare_to_largest(next, one, 0.9 / 1024).is_equal);
}

TEST(CompareToLargest, RefusesOtherTypes) {
  auto difference = compare_to_largest(floats({1}), floats({1, 2}), 1e-4);
  EXPECT_FALSE(difference.is_equal);
  EXPECT_EQ(describe(difference, {DType::kF32, {1}}), "it is f32[1], f32[2] is wanted");
}

TEST(CompareEach, MeasuresErrorsAgainstEachValue) {
  EXPECT_TRUE(compare_each(floats({1.0009F, 100}), floats({1, 100}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({1.002F, 100}), floats({1, 100}), 1e-3, 1e-7).is_equal);
}

// What is allowed of an infinite value is infinite, and of NaN is NaN: neither excuses a number.
TEST(CompareEach, TakesNanForNanAndNothingElse) {
  EXPECT_TRUE(compare_each(floats({kNan, 1}), floats({kNan, 1}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({5, 1}), floats({kNan, 1}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({kNan, 1}), floats({5, 1}), 1e-3, 1e-7).is_equal);
}

TEST(CompareEach, WantsTheSameInfinities) {
  EXPECT_TRUE(compare_each(floats({kInf, -kInf}), floats({kInf, -kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({5}), floats({kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({-kInf}), floats({kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({kNan}), floats({kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({kInf}), floats({5}), 1e-3, 1e-7).is_equal);
}

TEST(CompareEach, IsEqualForEmptyTensors) {
  EXPECT_TRUE(compare_each(floats({}), floats({}), 1e-3, 1e-7).is_equal);
}

}  // namespace
}  // namespace byoc::test
