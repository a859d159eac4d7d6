// SPDX-License-Identifier: Apache-2.0
// Results are compared relative to the largest; at the smallest numbers one step is no difference.
#include "core/conform/checks/compare.h"

#include <gtest/gtest.h>

#include <limits>

namespace byoc::test {
namespace {

/// Returns the fault that is found in `got`; empty: none.
template <class T>
std::string difference(DType dtype, T got, T expected) {
  const TensorType type{dtype, {}};
  return conform::compare(type, reinterpret_cast<const std::byte*>(&got),
                          reinterpret_cast<const std::byte*>(&expected), std::byte{0xa5}, true)
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

}  // namespace
}  // namespace byoc::test
