// SPDX-License-Identifier: Apache-2.0
// The profile of steady runs: single slow runs do not count, and the parts add up to the whole.
#include "runtime/cli/steady.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace byoc::cli {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Steady, AveragesTheMiddleThird) {
  // sorted by total: 10 11 | 12 14 | 50 90
  SteadyProfile p =
      middle_of({90, 10, 12, 50, 11, 14}, {{80, 5}, {6, 3}, {7, 4}, {45, 2}, {7, 3}, {9, 4}});
  EXPECT_EQ(p.runs, 6u);
  EXPECT_DOUBLE_EQ(p.total_ns, 13);
  EXPECT_THAT(p.steps_ns, ElementsAre(DoubleEq(8), DoubleEq(4)));
  EXPECT_DOUBLE_EQ(p.outside_ns, 1);
}

TEST(Steady, IsTheOneRunWhenThereIsNoOther) {
  SteadyProfile p = middle_of({10}, {{4, 5}});
  EXPECT_DOUBLE_EQ(p.total_ns, 10);
  EXPECT_DOUBLE_EQ(p.outside_ns, 1);
}

TEST(Steady, OfAProgramWithoutSteps) {
  SteadyProfile p = middle_of({10, 20}, {{}, {}});
  EXPECT_DOUBLE_EQ(p.total_ns, 15);
  EXPECT_TRUE(p.steps_ns.empty());
  EXPECT_DOUBLE_EQ(p.outside_ns, 15);
}

}  // namespace
}  // namespace byoc::cli
