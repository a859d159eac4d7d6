// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/evolution.h"

#include <gmock/gmock.h>

#include <set>

#include "synthetic.h"

namespace byoc::tune {
namespace {

// A score that is the negative time, as if the model were perfect.
Score perfect(const Synthetic& task, const Grid& grid, size_t* calls = nullptr) {
  return [&, calls](const std::vector<Genes>& points) {
    std::vector<float> out;
    for (const Genes& genes : points) {
      const double ns = task.time_ns(grid.point(genes));
      out.push_back(ns == kNever ? -1e30f : static_cast<float>(-ns));
    }
    if (calls) *calls += points.size();
    return out;
  };
}

TEST(Evolution, FindsTheBestPointOfAPerfectModel) {
  const Synthetic task = bowl(3, 5);
  const Grid grid(*task.space);
  size_t scored = 0;
  const Score score = perfect(task, grid, &scored);
  int found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto points = evolve(grid, {}, {}, score, {}, 1, random);
    found += task.time_ns(grid.point(points.at(0))) <= task.best_ns() * 1.05 ? 1 : 0;
  }
  EXPECT_GE(found, 19);
  EXPECT_EQ(scored, 20u * 5 * 256);  // of 10,000 each
}

TEST(Evolution, LeavesVisitedPointsOutAndRepeatsNone) {
  const Synthetic task = bowl(3, 5);
  const Grid grid(*task.space);
  const Score score = perfect(task, grid);
  Random random(1);
  GenesSet visited;
  for (int round = 0; round < 5; ++round) {
    for (const Genes& genes : evolve(grid, {}, visited, score, {}, 20, random))
      EXPECT_TRUE(visited.insert(genes).second);
  }
  EXPECT_EQ(visited.size(), 100u);
}

TEST(Evolution, SpreadsThePointsOfOneCall) {
  const Synthetic task = bowl(3, 5);
  const Grid grid(*task.space);
  Random random(1);
  const auto points = evolve(grid, {}, {}, perfect(task, grid), {}, 6, random);
  for (size_t a = 0; a < points.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      int differences = 0;
      for (size_t k = 0; k < 4; ++k) differences += points[a][k] != points[b][k] ? 1 : 0;
      EXPECT_GE(differences, 3);
    }
  }
}

TEST(Evolution, ScoresSmallSpacesAsAWhole) {
  const Space space{"t", "k", 1, 1, {{"n", numbers(1, 30)}, {"m", numbers(1, 30)}}, {}};
  const Grid grid(space);
  const Score score = [](const std::vector<Genes>& points) {
    EXPECT_EQ(points.size(), 899u);
    std::vector<float> out;
    for (const Genes& genes : points) out.push_back(genes[0] == 23 && genes[1] == 4 ? 1.0f : 0.0f);
    return out;
  };
  Random random(1);
  const auto points = evolve(grid, {}, {{0, 0}}, score, {}, 2000, random);
  EXPECT_EQ(points.at(0), (Genes{23, 4}));
  EXPECT_EQ(std::set(points.begin(), points.end()).size(), 899u);
}

TEST(Neighbours, DifferInOneKnobAndAreSorted) {
  const Space space{"t", "k", 1, 1, {{"n", numbers(1, 3)}, {"m", numbers(1, 4)}}, {}};
  const Grid grid(space);
  const Score score = [](const std::vector<Genes>& points) {
    std::vector<float> out;
    for (const Genes& genes : points) out.push_back(static_cast<float>(genes[0] + 10 * genes[1]));
    return out;
  };
  const GenesSet visited = {{1, 1}, {1, 2}};
  EXPECT_THAT(best_neighbours(grid, {1, 1}, visited, score, 3),
              testing::ElementsAre(Genes{1, 3}, Genes{2, 1}, Genes{0, 1}));
}

}  // namespace
}  // namespace byoc::tune
