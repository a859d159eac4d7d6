// SPDX-License-Identifier: Apache-2.0
#include "core/partition/convex/regions.h"

#include <gtest/gtest.h>

#include <random>

#include "region_graphs.h"

namespace byoc {
namespace {

TEST(FindRegions, AcyclicAndPureOnTenThousandRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 10000; ++round) {
    RegionGraph g = random_graph(random, 2 + random() % 60, 3);
    RegionOptions options = options_for(3);
    options.sweeps = static_cast<int>(random() % 5);
    options.refine_visits = random() % 2 ? 64 : random() % 4;
    if (random() % 3 == 0) options.colors[0].horizontal = true;
    if (random() % 3 == 0) options.colors[1].max_ops = 1 + random() % 5;
    if (random() % 4 == 0) g.alone[random() % g.size()] = 1;
    std::vector<uint32_t> region = find_regions(g, options);
    ASSERT_TRUE(quotient_is_acyclic(g, region)) << "round " << round;
    ASSERT_TRUE(colors_are_pure(g, region)) << "round " << round;
    std::vector<uint64_t> ops(g.size(), 0);
    for (uint32_t v = 0; v < g.size(); ++v) ++ops[region[v]];
    for (uint32_t v = 0; v < g.size(); ++v) {
      ASSERT_LE(ops[region[v]], options.colors[g.color[v]].max_ops) << "round " << round;
      if (g.alone[v]) {
        ASSERT_EQ(ops[region[v]], 1u) << "round " << round;
      }
    }
  }
}

// Numbers increase along edges, so regions can be emitted in the order of their numbers.
TEST(FindRegions, NumbersAreATopologicalOrderOfTheQuotient) {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    RegionGraph g = random_graph(random, 40, 3);
    std::vector<uint32_t> region = find_regions(g, options_for(3));
    for (uint32_t v = 0; v < g.size(); ++v) {
      for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e)
        ASSERT_LE(region[g.source[e]], region[v]);
    }
  }
}

TEST(FindRegions, ChainOfOneBackendIsOneRegion) {
  RegionGraph g = make_graph({0, 0, 0, 0}, {{0, 1}, {1, 2}, {2, 3}});
  EXPECT_EQ(find_regions(g, options_for(1)), (std::vector<uint32_t>{0, 0, 0, 0}));
}

TEST(FindRegions, NeverJoinsAcrossAPathThroughAnotherBackend) {
  // a(A) -> h(host) -> c(A), and a -> c.
  RegionGraph g = make_graph({0, 1, 0}, {{0, 1}, {1, 2}, {0, 2}});
  std::vector<uint32_t> region = find_regions(g, options_for(2));
  EXPECT_NE(region[0], region[2]);
}

// A node that may join either side joins the side with the heavier edge (docs/partitioning.md, "How
// regions are found", step 2).
TEST(LabelNodes, SweepsMoveANodeTowardsItsHeaviestNeighbour) {
  // a0(A) -> h(H) -> a2(A); a1(A) -> a2. The sweeps move a1 from label 0 to 2, that of a2.
  RegionGraph g = make_graph({0, 1, 0, 0}, {{0, 1}, {1, 3}, {2, 3}});
  EXPECT_EQ(label_nodes(g, 0)[2], 0);
  EXPECT_EQ(label_nodes(g, 4)[2], 2);
}

TEST(FindRegions, RefinementJoinsAcrossLabelsWhereNoSecondPathExists) {
  // x(A) -> h(H) -> a(A) -> b(A); c(A) is read by b and by another H. The labels of b and c differ,
  // but no second path connects them.
  RegionGraph g = make_graph({0, 1, 0, 0, 1, 0}, {{0, 1}, {1, 2}, {3, 4}, {3, 5}, {2, 5}});
  RegionOptions without = options_for(2);
  without.refine_visits = 0;
  without.sweeps = 0;
  RegionOptions with = options_for(2);
  with.sweeps = 0;
  EXPECT_NE(find_regions(g, without)[3], find_regions(g, without)[5]);
  EXPECT_EQ(find_regions(g, with)[3], find_regions(g, with)[5]);
}

// The worst case of step 4 in docs/partitioning.md: a chain of three colours with edges between
// nodes of equal colour. With the limit on the search this takes less than a second. Without it, it
// takes minutes and exceeds the test's time limit.
TEST(FindRegions, BoundedOnTheAdversary) {
  constexpr uint32_t n = 100000, skip = 4998;  // a multiple of 3
  std::vector<uint32_t> color(n);
  std::vector<TestEdge> edges;
  for (uint32_t v = 0; v < n; ++v) {
    color[v] = v % 3;
    if (v > 0) edges.push_back({v - 1, v});
    if (v >= skip) edges.push_back({v - skip, v});
  }
  RegionGraph g = make_graph(color, edges);
  std::vector<uint32_t> region = find_regions(g, options_for(3));
  EXPECT_TRUE(colors_are_pure(g, region));
}

TEST(FindRegions, CutsAboveTheLimitIntoRuns) {
  RegionGraph g = make_graph({0, 0, 0, 0, 0}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  RegionOptions options = options_for(1);
  options.colors[0].max_ops = 2;
  EXPECT_EQ(find_regions(g, options), (std::vector<uint32_t>{0, 0, 1, 1, 2}));
}

TEST(FindRegions, HorizontalJoinsUnconnectedNodes) {
  RegionGraph g = make_graph({1, 0, 0}, {{0, 1}, {0, 2}});
  RegionOptions options = options_for(2);
  EXPECT_NE(find_regions(g, options)[1], find_regions(g, options)[2]);
  options.colors[0].horizontal = true;
  EXPECT_EQ(find_regions(g, options)[1], find_regions(g, options)[2]);
}

}  // namespace
}  // namespace byoc
