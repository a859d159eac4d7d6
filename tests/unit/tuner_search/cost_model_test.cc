// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/cost_model.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>

#include "byoc/base/rank_correlation.h"
#include "core/tuner/search/samples.h"
#include "synthetic.h"

namespace byoc::tune {
namespace {

std::vector<CostModel> all_models() {
  std::vector<CostModel> out = {ridge_regression()};
#ifdef BYOC_XGBOOST
  out.push_back(boosted_trees(1));
#endif
  return out;
}

TEST(CostModel, OfThisBuildHasAName) {
  const std::string name = best_model(1).name;
  std::cout << "cost model: " << name << "\n";
  RecordProperty("cost_model", name);
  EXPECT_TRUE(name == "ridge regression" || name.starts_with("xgboost "));
#ifdef BYOC_XGBOOST
  EXPECT_TRUE(name.starts_with("xgboost "));
#endif
}

// 200 rows of three columns, of which one is constant and one is absent in each second row.
struct Data {
  Matrix rows;
  std::vector<float> scores;
};
Data line_data() {
  Data out;
  out.rows.columns = 3;
  Random random(5);
  for (int k = 0; k < 200; ++k) {
    const auto x = static_cast<float>(random.unit());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    out.rows.cells.insert(out.rows.cells.end(), {x, 7, k % 2 == 0 ? x : nan});
    out.scores.push_back(3 * x - 1);
  }
  return out;
}

TEST(CostModel, LearnsALineInSpiteOfAbsentValues) {
  const Data data = line_data();
  for (const CostModel& model : all_models()) {
    auto predictor = model.train(data.rows, data.scores);
    ASSERT_TRUE(predictor.ok()) << model.name;
    const auto found = (*predictor)(data.rows);
    ASSERT_TRUE(found.ok());
    for (size_t k = 0; k < data.scores.size(); ++k)
      EXPECT_NEAR((*found)[k], data.scores[k], 0.15) << model.name;
  }
}

TEST(CostModel, GivesTheSameBitsEachTime) {
  const Data data = line_data();
  for (const CostModel& model : all_models()) {
    const auto a = (*model.train(data.rows, data.scores))(data.rows);
    const auto b = (*model.train(data.rows, data.scores))(data.rows);
    EXPECT_EQ(*a, *b) << model.name;
  }
}

TEST(CostModel, StartsNoThread) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const Data data = line_data();
  const auto before = threads();
  for (const CostModel& model : all_models()) {
    const auto predictor = model.train(data.rows, data.scores);
    EXPECT_TRUE((*predictor)(data.rows).ok());
    EXPECT_EQ(threads(), before) << model.name;
  }
}

TEST(CostModel, TakesOneRowAndPredictsNone) {
  for (const CostModel& model : all_models()) {
    Matrix one{2, {1, 2}};
    const std::vector<float> score = {-1};
    auto predictor = model.train(one, score);
    ASSERT_TRUE(predictor.ok()) << model.name;
    EXPECT_EQ((*predictor)(Matrix{2, {}})->size(), 0u);
    EXPECT_TRUE(std::isfinite((*predictor)(one)->at(0)));
  }
}

// Predictions and times of points of a task that a model had no time of.
struct HeldOut {
  std::vector<double> speeds, predictions;  // greater is faster
  double all() const { return rank_correlation(speeds, predictions); }
  double of_working() const {  // without the points that fail
    std::vector<double> a, b;
    for (size_t k = 0; k < speeds.size(); ++k)
      if (speeds[k] > 0) a.push_back(speeds[k]), b.push_back(predictions[k]);
    return rank_correlation(a, b);
  }
};

// Trains on 96 random points of each of some convolutions, and predicts 400 of another one.
HeldOut predict_held_out(const CostModel& model, size_t held_out) {
  const std::pair<int, int> shapes[] = {{56, 8}, {28, 16}, {14, 32}, {7, 64}, {112, 4}, {28, 32}};
  std::vector<Synthetic> tasks;
  std::vector<const Space*> spaces;
  for (const auto& [width, c] : shapes) {
    tasks.push_back(convolution(width, c));
    spaces.push_back(tasks.back().space.get());
  }
  const Features features(spaces);
  Samples samples(features);
  Random random(17);
  HeldOut out;
  Matrix rows;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const Subject subject{"conv", spaces[t]->flops, spaces[t]->bytes, spaces[t]};
    const size_t group = samples.add_group(subject);
    const Grid grid(*spaces[t]);
    for (size_t k = 0; k < (t == held_out ? 400 : 96); ++k) {
      const Point point = grid.point(grid.random(random));
      const double ns = tasks[t].time_ns(point);
      if (t != held_out) samples.set(group, point, ns);
      if (t == held_out) out.speeds.push_back(1 / ns), features.append(subject, point, rows);
    }
  }
  const TrainingSet set = samples.training_set();
  const auto scores = (*model.train(set.rows, set.scores))(rows);
  out.predictions.assign(scores->begin(), scores->end());
  return out;
}

// A polynomial cannot follow the step from the fastest tiles to those that fail.
TEST(CostModel, RanksPointsOfATaskThatItHasNotSeen) {
  for (const CostModel& model : all_models()) {
    const bool is_boosted = model.name != "ridge regression";
    for (size_t held_out = 0; held_out < 6; ++held_out) {
      const HeldOut found = predict_held_out(model, held_out);
      std::cout << model.name << ", task " << held_out << ": rank correlation " << found.all()
                << ", without failures " << found.of_working() << "\n";
      EXPECT_GT(found.all(), is_boosted ? 0.9 : 0.6) << model.name << ", task " << held_out;
      if (is_boosted) {
        EXPECT_GT(found.of_working(), 0.8) << "task " << held_out;
      }
    }
  }
}

TEST(RankCorrelation, AgreesWithValuesByHand) {
  // Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 * 4 / (5 * 24).
  EXPECT_DOUBLE_EQ(
      rank_correlation(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{20, 10, 40, 30, 50}),
      0.8);
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{3, 2, 1}),
                   -1);
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2}, std::vector<double>{5, 5}), 0);
}

}  // namespace
}  // namespace byoc::tune
