// SPDX-License-Identifier: Apache-2.0
// Results are compared relative to the largest; at the smallest numbers one step is no difference.
#include "core/conform/checks/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace byoc::test {
namespace {

/// Returns the fault that is found in `got`; empty: none.
template <class T>
std::string difference(DType dtype, T got, T expected, double rounding = 0) {
  const TensorType type{dtype, {}};
  return conform::compare(type, reinterpret_cast<const std::byte*>(&got),
                          reinterpret_cast<const std::byte*>(&expected), std::byte{0xa5}, true,
                          rounding)
      .difference;
}

TEST(CompareResults, TakesOneStepOfTheSmallestNumbers) {
  constexpr float kStep = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(difference(DType::kF32, 0.0f, kStep), "");
  EXPECT_EQ(difference(DType::kF32, 2 * kStep, kStep), "");
  EXPECT_NE(difference(DType::kF32, 3 * kStep, kStep), "");
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(difference(DType::kF64, 0.0, kSmallest), "");
  EXPECT_NE(difference(DType::kF64, 3 * kSmallest, kSmallest), "");
}

TEST(CompareResults, TakesErrorsRelativeToTheLargest) {
  EXPECT_EQ(difference(DType::kF32, 1.000005f, 1.0f), "");
  EXPECT_NE(difference(DType::kF32, 1.00002f, 1.0f), "");
  EXPECT_NE(difference(DType::kI32, 1, 0), "");
}

TEST(CompareResults, TakesTheRoundingOfTheValuesOfAChain) {
  // gelu(-3) by its formula, with an erf that is one step off.
  const double rounding = conform::rounding_of_chain(DType::kF32);
  const double root = -3 * std::sqrt(0.5);
  const float formula = -1.5f * (1.0f + std::nextafter(static_cast<float>(std::erf(root)), 0.0f));
  const auto exact = static_cast<float>(-1.5 * std::erfc(-root));
  EXPECT_NE(difference(DType::kF32, formula, exact), "");
  EXPECT_EQ(difference(DType::kF32, formula, exact, rounding), "");
  EXPECT_NE(difference(DType::kF32, exact + 3e-7f, exact, rounding), "");
  EXPECT_EQ(conform::rounding_of_chain(DType::kBF16), 0) << "which would hide wrong values";
}

}  // namespace
}  // namespace byoc::test
