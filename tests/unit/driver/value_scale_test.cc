// The scale that errors are measured against: expected values follow from the definition.
#include "core/tools/model/value_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/tools/model/compare.h"

namespace byoc::test {
namespace {

using driver::value_scale;

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(const std::vector<float>& values) {
  auto out = Tensor::make({DType::kF32, {static_cast<int64_t>(values.size())}});
  std::memcpy(out->data(), values.data(), out->size_bytes());
  return *std::move(out);
}
double scale_of(const std::vector<float>& values) { return value_scale(floats(values)); }

TEST(ValueScale, IsTheLargestMagnitudeOfOrdinaryValues) {
  EXPECT_EQ(scale_of({}), 0);
  EXPECT_EQ(scale_of({0, 0}), 0);
  EXPECT_EQ(scale_of({1e-30F, -3e-20F}), -static_cast<double>(-3e-20F));
  EXPECT_EQ(scale_of({1, -1e-9F}), 1);  // a probability near 1 is not a mask
  EXPECT_EQ(scale_of({0.5F, -100, 3}), 100);
  EXPECT_EQ(scale_of({0.5F, -1000, 3}), 1000);
}

TEST(ValueScale, LeavesMasksOut) {
  for (float mask : {kLowest, -1e30F, -1e9F, -65504.0F, -10000.0F, kInf, -kInf}) {
    EXPECT_EQ(scale_of({0.5F, -3, 12, mask}), 12) << mask;
    EXPECT_EQ(scale_of({mask, mask, mask, 12}), 12) << mask;
  }
  EXPECT_EQ(scale_of({kLowest, -1e9F, 12}), 12);
}

TEST(ValueScale, IsAtLeast1BesideMasks) {
  EXPECT_EQ(scale_of({0, -10000}), 1);
  EXPECT_EQ(scale_of({1e-3F, kLowest}), 1);
}

TEST(ValueScale, KeepsLargeValuesThatOthersLeadUpTo) {
  EXPECT_EQ(scale_of({2e5F, -3e4F, 700, 9}), 2e5);
  EXPECT_EQ(scale_of({63, 4000}), 4000);  // less than 64 times as large
  EXPECT_EQ(scale_of({kLowest}), -static_cast<double>(kLowest));
  EXPECT_EQ(scale_of({5e4F, -6e4F}), 6e4);
}

TEST(ValueScale, MakesAWrongValueBesideAMaskADifference) {
  const std::vector<float> right = {0.5F, -3, 12, kLowest};
  EXPECT_TRUE(driver::compare_to_largest(floats({0.5F, -3, 12.0005F, kLowest}), floats(right), 1e-4)
                  .is_equal);
  auto difference =
      driver::compare_to_largest(floats({0.5F, -3, 12.01F, kLowest}), floats(right), 1e-4);
  EXPECT_FALSE(difference.is_equal);
  EXPECT_EQ(difference.worst, 2);
  EXPECT_EQ(difference.largest, 12);
}

/// The mask itself is compared with itself as the scale.
TEST(ValueScale, MeasuresMasksAgainstThemselves) {
  const std::vector<float> right = {12, -1e9F};
  EXPECT_TRUE(driver::compare_to_largest(floats({12, -1.00005e9F}), floats(right), 1e-4).is_equal);
  auto difference = driver::compare_to_largest(floats({12, -1.001e9F}), floats(right), 1e-4);
  EXPECT_FALSE(difference.is_equal);
  EXPECT_EQ(difference.worst, 1);
}

}  // namespace
}  // namespace byoc::test
