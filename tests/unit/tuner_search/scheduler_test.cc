// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace byoc::tune {
namespace {

Progress task(double weight, std::vector<double> gains = {}, double remaining = 1) {
  return {weight, remaining, gains.size(), gains, false};
}

TEST(Scheduler, BeginsWithTheHeaviestTask) {
  const Progress tasks[] = {task(1), task(5), task(3)};
  EXPECT_EQ(pick_task(tasks), 1u);
}

TEST(Scheduler, PicksTheFirstOfEquals) {
  const Progress tasks[] = {task(2), task(2)};
  EXPECT_EQ(pick_task(tasks), 0u);
}

TEST(Scheduler, PrefersATaskThatStillGains) {
  const Progress tasks[] = {task(5, {0.3, 0.0, 0.0}), task(4, {0.2, 0.2, 0.2})};
  EXPECT_EQ(pick_task(tasks), 1u);
}

TEST(Scheduler, CountsWhatIsLeftOfTheTime) {
  const Progress tasks[] = {task(5, {0.1, 0.1}, 0.2), task(4, {0.1, 0.1}, 1)};
  EXPECT_EQ(pick_task(tasks), 1u);
}

TEST(Scheduler, TriesATaskOnceBeforeAnEqualOneAThirdTime) {
  const Progress tasks[] = {task(5, {0.2, 0.1}), task(5)};
  EXPECT_EQ(pick_task(tasks), 1u);
}

TEST(Scheduler, TriesEveryTaskOfSomeShareOnceFirst) {
  const Progress heavy[] = {task(90, {0.5}), task(3), task(7)};
  EXPECT_EQ(pick_task(heavy), 2u);
  const Progress last[] = {task(96, {0.5, 0, 0, 0}), task(4)};
  EXPECT_EQ(pick_task(last), 1u) << "it would get no record";
}

TEST(Scheduler, LeavesLightTasksUntilHeavyOnesGainLess) {
  const Progress gains[] = {task(1000, {0.5}), task(0.1), task(2)};
  EXPECT_EQ(pick_task(gains), 0u);
  const Progress gained[] = {task(94, {0, 0, 0, 0}), task(5.1, {0, 0, 0}), task(0.9)};
  EXPECT_EQ(pick_task(gained), 2u);
}

TEST(Scheduler, EndsATaskAfterThreeRoundsWithoutGain) {
  EXPECT_FALSE(is_ended(task(1)));
  EXPECT_FALSE(is_ended(task(1, {0, 0, 0})));  // the first one has the plugin's guesses
  EXPECT_TRUE(is_ended(task(1, {0.5, 0, 0.009, 0})));
  EXPECT_FALSE(is_ended(task(1, {0.5, 0, 0.011, 0})));
  EXPECT_TRUE(is_ended({1, 1, 1, {0.5}, true}));
}

TEST(Scheduler, EndsWhenEnoughOfTheWeightHas) {
  const std::vector<double> over = {0.5, 0, 0, 0};
  const Progress most[] = {task(96, over), task(4, {0.5})};
  EXPECT_EQ(pick_task(most), std::nullopt);
  const Progress fewer[] = {task(94, over), task(6, {0.5})};
  EXPECT_EQ(pick_task(fewer), 1u);
  EXPECT_EQ(pick_task({}), std::nullopt);
}

TEST(Scheduler, TakesUnusableWeightsAsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Progress some[] = {task(nan), task(-1), task(0.5), task(INFINITY)};
  EXPECT_EQ(pick_task(some), 2u);
  const Progress all[] = {task(0, {0.5, 0, 0, 0}), task(0)};
  EXPECT_EQ(pick_task(all), 1u);
}

}  // namespace
}  // namespace byoc::tune
