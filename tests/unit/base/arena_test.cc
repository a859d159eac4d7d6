// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace byoc {
namespace {

// Returns whether no two lifetimes that share a step overlap in memory.
bool is_sound(const std::vector<Lifetime>& lifetimes, const ArenaPlan& plan) {
  for (size_t a = 0; a < lifetimes.size(); ++a) {
    if (plan.offsets[a] + lifetimes[a].bytes > plan.bytes) return false;
    for (size_t b = a + 1; b < lifetimes.size(); ++b) {
      bool together =
          lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      bool apart = plan.offsets[a] + lifetimes[a].bytes <= plan.offsets[b] ||
                   plan.offsets[b] + lifetimes[b].bytes <= plan.offsets[a];
      if (together && !apart && lifetimes[a].bytes && lifetimes[b].bytes) return false;
    }
  }
  return true;
}

TEST(PlanArena, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (uint32_t k = 0; k < 100; ++k) chain.push_back({64, k, k + 1});
  ArenaPlan plan = plan_arena(chain);
  EXPECT_EQ(plan.bytes, 128u);
  EXPECT_EQ(plan.peak_live_bytes, 128u);
  EXPECT_TRUE(is_sound(chain, plan));
}

TEST(PlanArena, NothingLivesInNoMemory) { EXPECT_EQ(plan_arena({}).bytes, 0u); }

TEST(PlanArena, ReusesAHoleForTwoSmallOnes) {
  // The two buffers of 128 bytes fit where the one of 256 was. One of 64 is live at the same
  // time as each of them.
  std::vector<Lifetime> lifetimes = {{256, 0, 1}, {64, 1, 3}, {128, 2, 3}, {128, 2, 3}};
  ArenaPlan plan = plan_arena(lifetimes);
  EXPECT_EQ(plan.bytes, 320u);
  EXPECT_TRUE(is_sound(lifetimes, plan));
}

// Graphs like those of networks: chains with residuals of varying span. The arena may be at most
// 1.15 times as large as the peak of live bytes.
TEST(PlanArena, StaysWithin115PercentOfThePeakOnNetworkLikeGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> lifetimes;
    uint32_t n = 5 + random() % 150;
    for (uint32_t k = 0; k < n; ++k) {
      uint32_t span = random() % 4 ? 1 : 2 + random() % 6;
      lifetimes.push_back({64 * (1 + random() % 200), k, k + span});
    }
    ArenaPlan plan = plan_arena(lifetimes);
    ASSERT_TRUE(is_sound(lifetimes, plan)) << "round " << round;
    ASSERT_LE(static_cast<double>(plan.bytes), 1.15 * static_cast<double>(plan.peak_live_bytes))
        << "round " << round;
  }
}

TEST(PlanArena, SoundOnArbitraryLifetimesAndDeterministic) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> lifetimes;
    for (uint32_t k = 0; k < 40; ++k) {
      uint32_t first = random() % 50;
      lifetimes.push_back(
          {64 * (random() % 20), first, first + static_cast<uint32_t>(random() % 50)});
    }
    ArenaPlan plan = plan_arena(lifetimes);
    ASSERT_TRUE(is_sound(lifetimes, plan)) << "round " << round;
    ASSERT_EQ(plan.offsets, plan_arena(lifetimes).offsets);
  }
}

// The plan is one sweep in order of time. Anything slower than that exceeds the test's time limit.
TEST(PlanArena, AMillionLifetimes) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t k = 0; k < 1000000; ++k) lifetimes.push_back({64 * (1 + k % 7), k, k + 1 + k % 5});
  ArenaPlan plan = plan_arena(lifetimes);
  EXPECT_LE(plan.bytes, 2 * plan.peak_live_bytes);
}

}  // namespace
}  // namespace byoc
