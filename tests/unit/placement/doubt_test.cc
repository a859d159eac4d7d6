// SPDX-License-Identifier: Apache-2.0
// Borders of ops whose cost is a guess count more.
#include "unit/placement/placed.h"

namespace byoc::placement {
namespace {

double border(const std::string& estimates) {
  const Placed placed = place(kChain,
                              {{"a", {{"ops", "tanh"}, {"est", "tanh:1000"}}},
                               {"b", {{"ops", "relu"}, {"est", estimates}}}},
                              "tanh=a,relu=b");
  return border_ns(placed.placement, 2);
}

TEST(BorderCosts, AreThoseOfTheMachineBetweenKnownCosts) {
  EXPECT_NEAR(border("relu:1000"), 2 * kBorder, 0.01);
}

TEST(BorderCosts, CountThreeTimesBesideTheAnalyticModel) {
  EXPECT_NEAR(border(""), 6 * kBorder, 0.02);
}

}  // namespace
}  // namespace byoc::placement
