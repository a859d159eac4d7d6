// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/grid.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

namespace byoc::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Space small() {
  return {"t",
          "k",
          1,
          1,
          {{"tile", {"1x1", "2x4", "6x2"}}, {"n", {"1", "4", "16"}}, {"how", {"loop", "around"}}},
          {}};
}

TEST(NumbersOf, ReadsNumbersAndTiles) {
  EXPECT_THAT(numbers_of("12"), ElementsAre(12));
  EXPECT_THAT(numbers_of("6x2"), ElementsAre(6, 2));
  EXPECT_THAT(numbers_of("0.5"), ElementsAre(0.5));
  EXPECT_THAT(numbers_of("-1"), ElementsAre(-1));
}

TEST(NumbersOf, RefusesOtherTexts) {
  for (const char* text : {"", "loop", "6x", "x2", "6 2", "1e999", "inf", "nan", "6x2x"})
    EXPECT_THAT(numbers_of(text), IsEmpty()) << text;
}

TEST(LogOf, KeepsTheOrderOfAllNumbers) {
  EXPECT_EQ(log_of(8), 3);
  EXPECT_LT(log_of(0), log_of(1));
  EXPECT_LT(log_of(-5), log_of(-1));
  EXPECT_LT(log_of(-1), log_of(0));
}

TEST(Grid, ConvertsPointsBothWays) {
  const Space space = small();
  const Grid grid(space);
  EXPECT_EQ(grid.size(), 18);
  const Point point = {{"tile", "6x2"}, {"n", "4"}, {"how", "around"}};
  ASSERT_TRUE(grid.genes(point).has_value());
  EXPECT_THAT(*grid.genes(point), ElementsAre(2, 1, 1));
  EXPECT_EQ(grid.point({2, 1, 1}), point);
}

TEST(Grid, HasNoGenesForPointsOutside) {
  const Space space = small();
  const Grid grid(space);
  EXPECT_FALSE(grid.genes({}));
  EXPECT_FALSE(grid.genes({{"tile", "6x2"}, {"n", "5"}, {"how", "loop"}}));
  EXPECT_FALSE(grid.genes({{"tile", "6x2"}, {"m", "4"}, {"how", "loop"}}));
  EXPECT_FALSE(grid.genes({{"tile", "6x2"}, {"n", "4"}, {"how", "loop"}, {"m", "1"}}));
}

TEST(Grid, MovesForeignPointsToTheNearest) {
  const Space space = small();
  const Grid grid(space);
  const Genes rest = {0, 0, 1};
  EXPECT_THAT(grid.nearest({{"n", "5"}}, rest), ElementsAre(0, 1, 1));
  EXPECT_THAT(grid.nearest({{"n", "9"}, {"how", "loop"}}, rest), ElementsAre(0, 2, 0));
  EXPECT_THAT(grid.nearest({{"tile", "7x2"}, {"other", "3"}}, rest), ElementsAre(2, 0, 1));
  EXPECT_THAT(grid.nearest({{"tile", "fast"}, {"n", "6x2"}, {"how", "x"}}, rest),
              ElementsAre(0, 0, 1));
}

TEST(Grid, DrawsEachPointOnceUntilNoneIsLeft) {
  const Space space = small();
  const Grid grid(space);
  Random random(1);
  GenesSet visited;
  for (int k = 0; k < 18; ++k) {
    const auto genes = grid.random_outside(visited, random);
    ASSERT_TRUE(genes.has_value());
    EXPECT_TRUE(visited.insert(*genes).second);
    EXPECT_TRUE(grid.genes(grid.point(*genes)).has_value());
  }
  EXPECT_FALSE(grid.random_outside(visited, random));
}

TEST(Grid, MutatesOneKnobWithAChoice) {
  Space space = small();
  space.knobs.push_back({"fixed", {"1"}});
  const Grid grid(space);
  Random random(3);
  std::set<Genes> seen;
  for (int k = 0; k < 200; ++k) {
    Genes genes = {1, 1, 0, 0};
    grid.mutate(genes, random);
    seen.insert(genes);
  }
  EXPECT_THAT(seen, ElementsAre(Genes{0, 1, 0, 0}, Genes{1, 0, 0, 0}, Genes{1, 1, 1, 0},
                                Genes{1, 2, 0, 0}, Genes{2, 1, 0, 0}));
}

TEST(Grid, HasOnePointWithoutKnobsAndNoneWithoutValues) {
  const Space empty{"t", "k", 1, 1, {}, {}}, none{"t", "k", 1, 1, {{"n", {}}}, {}};
  EXPECT_EQ(Grid(empty).size(), 1);
  EXPECT_EQ(Grid(none).size(), 0);
  Random random(1);
  EXPECT_EQ(Grid(empty).random_outside({}, random), Genes());
  EXPECT_FALSE(Grid(none).random_outside({}, random));
}

}  // namespace
}  // namespace byoc::tune
