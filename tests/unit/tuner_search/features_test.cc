// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/features.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/tuner/search/samples.h"

namespace byoc::tune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Returns the value in the column of that name; fails without one.
float at(const Features& features, const Matrix& rows, const std::string& name) {
  for (size_t k = 0; k < features.width(); ++k)
    if (features.names()[k] == name) return rows.cells[k];
  ADD_FAILURE() << "no column " << name;
  return 0;
}

const Space kConv{"a",
                  "conv",
                  1023,
                  7,
                  {{"tile", {"1x1", "6x2"}}, {"chunk", {"1", "4", "16"}}, {"how", {"in", "out"}}},
                  {{{"tile", "1x1"}, {"chunk", "4"}, {"how", "in"}}}};
const Space kSum{"b", "sum", 1, 1, {{"vectors", {"1", "2"}}}, {{{"vectors", "1"}}}};

TEST(Features, HaveLogarithmsRatiosAndProducts) {
  const Space* spaces[] = {&kConv, &kSum};
  const Features features(spaces);
  Matrix rows;
  features.append({"conv", 1023, 7, &kConv}, {{"tile", "6x2"}, {"chunk", "16"}, {"how", "out"}},
                  rows);
  EXPECT_EQ(rows.rows(), 1u);
  EXPECT_EQ(at(features, rows, "log2 chunk"), 4);
  EXPECT_EQ(at(features, rows, "ratio chunk"), 2);
  EXPECT_FLOAT_EQ(at(features, rows, "place chunk"), 2.0f / 3);
  EXPECT_FLOAT_EQ(at(features, rows, "log2 tile.0"), std::log2(6.0f));
  EXPECT_EQ(at(features, rows, "ratio tile.1"), 1);
  EXPECT_FLOAT_EQ(at(features, rows, "log2 tile.0 + log2 tile.1"), std::log2(12.0f));
  EXPECT_EQ(at(features, rows, "log2 chunk + log2 tile.1"), 5);
  EXPECT_EQ(at(features, rows, "how is out"), 1);
  EXPECT_EQ(at(features, rows, "how is in"), 0);
  EXPECT_EQ(at(features, rows, "kind conv"), 1);
  EXPECT_EQ(at(features, rows, "kind sum"), 0);
  EXPECT_EQ(at(features, rows, "log2 flops"), 10);
  EXPECT_EQ(at(features, rows, "log2 bytes"), 3);
  EXPECT_EQ(at(features, rows, "log2 flops per byte"), 7);
  EXPECT_TRUE(std::isnan(at(features, rows, "log2 vectors")));
}

TEST(Features, OfARecordAloneHaveNoPlaceAndNoRatio) {
  const Space* spaces[] = {&kConv, &kSum};
  const Features features(spaces);
  Matrix rows;
  features.append({"conv", 10, 10, nullptr}, {{"chunk", "64"}, {"new", "5"}, {"how", "up"}}, rows);
  EXPECT_EQ(at(features, rows, "log2 chunk"), 6);
  EXPECT_TRUE(std::isnan(at(features, rows, "ratio chunk")));
  EXPECT_TRUE(std::isnan(at(features, rows, "place chunk")));
  EXPECT_EQ(at(features, rows, "how is in"), 0);
}

TEST(Features, TakeAKnobWithAnyOtherTextAsCategories) {
  const Space mixed{"m", "k", 1, 1, {{"n", {"1", "2", "all"}}}, {}};
  const Space* spaces[] = {&mixed, &mixed};
  const Features features(spaces);
  Matrix rows;
  features.append({"k", 1, 1, &mixed}, {{"n", "all"}}, rows);
  EXPECT_EQ(at(features, rows, "n is all"), 1);
  EXPECT_EQ(at(features, rows, "n is 2"), 0);
}

TEST(Samples, AreScoredByTheBestOfTheirGroup) {
  const Space* spaces[] = {&kSum};
  const Features features(spaces);
  Samples samples(features);
  const size_t a = samples.add_group({"sum", 1, 1, &kSum}), b = samples.add_group({"sum", 1, 1});
  samples.set(a, {{"vectors", "1"}}, 100);
  samples.set(a, {{"vectors", "2"}}, 400);
  samples.set(b, {{"vectors", "1"}}, 1000);
  samples.set(b, {{"vectors", "2"}}, kNever);
  samples.set(b, {{"vectors", "4"}}, 1e9);
  EXPECT_EQ(samples.size(), 5u);
  EXPECT_THAT(samples.training_set().scores,
              testing::ElementsAre(0, -2, 0, Samples::kFailed + 1, Samples::kFailed));
  samples.set(a, {{"vectors", "2"}}, 50);  // measured again
  EXPECT_EQ(samples.size(), 5u);
  EXPECT_THAT(std::vector(samples.training_set().scores), testing::Contains(-1));
}

TEST(Samples, OfAGroupWithoutATimeAreLeftOut) {
  const Space* spaces[] = {&kSum};
  const Features features(spaces);
  Samples samples(features);
  samples.set(samples.add_group({"sum", 1, 1, &kSum}), {{"vectors", "1"}}, kNever);
  EXPECT_TRUE(samples.training_set().scores.empty());
}

TEST(Samples, AreThinnedButKeepTheBest) {
  const Space* spaces[] = {&kSum};
  const Features features(spaces);
  Samples samples(features);
  for (size_t group = 0; group < 4; ++group) {
    samples.add_group({"sum", 1, 1, nullptr});
    for (int k = 0; k < 2000; ++k) samples.set(group, {{"vectors", std::to_string(k)}}, 1000 + k);
  }
  const TrainingSet set = samples.training_set();
  EXPECT_EQ(set.scores.size(), Samples::kMaxRows);
  EXPECT_EQ(set.rows.rows(), Samples::kMaxRows);
  EXPECT_EQ(std::count(set.scores.begin(), set.scores.end(), 0.0f), 4);
}

}  // namespace
}  // namespace byoc::tune
