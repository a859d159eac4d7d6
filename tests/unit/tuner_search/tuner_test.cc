// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/tuner.h"

#include <gmock/gmock.h>

#include <iostream>
#include <set>

#include "synthetic.h"

namespace byoc::tune {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

SearchOptions options_of(uint64_t seed, size_t trials) {
  SearchOptions out;
  out.seed = seed;
  out.trials = trials;
  return out;
}

// Measures proposals until there are none. Returns them as text, in order.
std::vector<std::string> run(TuningSearch& search, const std::vector<Synthetic>& tasks) {
  std::vector<std::string> out;
  for (auto batch = search.next(16); !batch.empty(); batch = search.next(16)) {
    for (const Proposal& proposal : batch) {
      out.push_back(cat(proposal.task, " ", print(proposal.point)));
      search.add(proposal.task, proposal.point, tasks[proposal.task].time_ns(proposal.point));
    }
  }
  return out;
}

std::vector<Synthetic> one(Synthetic task) {
  std::vector<Synthetic> out;
  out.push_back(std::move(task));
  return out;
}

double best_of_random(const Synthetic& task, uint64_t seed, size_t trials) {
  const Grid grid(*task.space);
  Random random(seed);
  GenesSet visited;
  double best = kNever;
  for (size_t k = 0; k < trials; ++k) {
    const auto genes = grid.random_outside(visited, random);
    visited.insert(*genes);
    best = std::min(best, task.time_ns(grid.point(*genes)));
  }
  return best;
}

// The seeds of 20 for which 128 trials of 10,000 points give one within 5 % of the best.
struct Score20 {
  int search = 0, random = 0;
  double search_ratio = 0, random_ratio = 0;  // means
};
Score20 score_of(const std::function<Synthetic()>& make, const CostModel& model) {
  Score20 out;
  const auto tasks = one(make());
  const double best = tasks[0].best_ns();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SearchOptions options = options_of(seed, 128);
    options.model = model;
    TuningSearch search({tasks[0].space.get()}, {1.0}, options);
    run(search, tasks);
    EXPECT_LE(search.trials(0), 128u);
    const double found = search.best_ns(0) / best;
    const double random = best_of_random(tasks[0], seed, 128) / best;
    out.search += found <= 1.05 ? 1 : 0, out.search_ratio += found / 20;
    out.random += random <= 1.05 ? 1 : 0, out.random_ratio += random / 20;
  }
  std::cout << model.name << ": within 5 %: " << out.search << " of 20, mean " << out.search_ratio
            << "; random: " << out.random << " of 20, mean " << out.random_ratio << "\n";
  return out;
}

const std::function<Synthetic()> kTasks[] = {
    [] { return convolution(56, 8); }, [] { return convolution(28, 16); },
    [] { return convolution(7, 64); }, [] { return bowl(3, 5); }, [] { return bowl(7, 2); }};

#ifdef BYOC_XGBOOST
TEST(TuningSearch, FindsAlmostTheBestOfTenThousandPoints) {
  for (const auto& task : kTasks) {
    const Score20 score = score_of(task, boosted_trees(1));
    EXPECT_GE(score.search, 18);
    EXPECT_LT(score.search_ratio, 1.03);
    EXPECT_LT(score.search_ratio, score.random_ratio);
  }
}
#endif

TEST(TuningSearch, BeatsRandomPointsWithRidgeRegressionToo) {
  for (const auto& task : kTasks) {
    const Score20 score = score_of(task, ridge_regression());
    EXPECT_GT(score.search, score.random);
    EXPECT_LT(score.search_ratio, score.random_ratio);
  }
}

TEST(TuningSearch, ProposesTheGuessesFirst) {
  auto tasks = one(bowl(3, 5));
  Space& space = *tasks[0].space;
  space.guesses.clear();
  for (int k = 0; k < 10; ++k)
    space.guesses.push_back({{"k", "1"}, {"m", "2"}, {"n", "4"}, {"u", std::to_string(1 << k)}});
  TuningSearch search({&space}, {1.0});
  const auto batch = search.next(16);
  ASSERT_THAT(batch, SizeIs(16));
  for (size_t k = 0; k < 8; ++k) EXPECT_EQ(batch[k].point, space.guesses[k]);
}

TEST(TuningSearch, ProposesNoPointTwice) {
  const auto tasks = one(convolution(14, 32));
  TuningSearch search({tasks[0].space.get()}, {1.0}, options_of(3, 500));
  const auto proposals = run(search, tasks);
  EXPECT_EQ(std::set(proposals.begin(), proposals.end()).size(), proposals.size());
  EXPECT_EQ(search.trials(0), proposals.size());
}

TEST(TuningSearch, RepeatsItselfForTheSameSeedAndTimes) {
  std::vector<Synthetic> tasks;
  tasks.push_back(convolution(14, 32));
  tasks.push_back(bowl(3, 5));
  const std::vector<const Space*> spaces = {tasks[0].space.get(), tasks[1].space.get()};
  TuningSearch a(spaces, {1.0, 2.0}, options_of(7, 200)), b(spaces, {1.0, 2.0}, options_of(7, 200));
  TuningSearch other(spaces, {1.0, 2.0}, options_of(8, 200));
  const auto first = run(a, tasks);
  EXPECT_EQ(first, run(b, tasks));
  EXPECT_NE(first, run(other, tasks));
}

// Tiles above 16 registers fail: a third of the space.
TEST(TuningSearch, AvoidsPointsLikeThoseThatFailed) {
  const auto tasks = one(convolution(56, 8));
  SearchOptions options = options_of(1, 256);
  TuningSearch search({tasks[0].space.get()}, {1.0}, options);
  size_t early = 0, late = 0, n = 0;
  for (auto batch = search.next(16); !batch.empty(); batch = search.next(16)) {
    for (const Proposal& proposal : batch) {
      const double ns = tasks[0].time_ns(proposal.point);
      (++n <= 16 ? early : late) += ns == kNever ? 1 : 0;
      search.add(0, proposal.point, ns);
    }
  }
  const double early_share = static_cast<double>(early) / 16;
  const double late_share = static_cast<double>(late) / static_cast<double>(n - 16);
  EXPECT_GT(early_share, 0.1);
  EXPECT_LT(late_share, 0.1);
}

TEST(TuningSearch, SpendsMostTrialsOnTheHeavyTaskThatImproves) {
  std::vector<Synthetic> tasks;
  tasks.push_back(bowl(3, 5));
  tasks.push_back(bowl(7, 2));
  tasks.push_back(bowl(5, 5));
  tasks[1].time_ns = [](const Point&) { return 100.0; };  // heavy, but all points are alike
  const std::vector<const Space*> spaces = {tasks[0].space.get(), tasks[1].space.get(),
                                            tasks[2].space.get()};
  TuningSearch search(spaces, {10.0, 10.0, 0.5}, options_of(1, 192));
  run(search, tasks);
  EXPECT_GT(search.trials(0), search.trials(1));
  EXPECT_GT(search.trials(0), 2 * search.trials(2));
  EXPECT_GE(search.trials(0), 96u);
  EXPECT_LE(search.trials(1), 64u);
}

TEST(TuningSearch, TakesAnyShareOfRandomPoints) {
  const auto tasks = one(bowl(3, 5));
  for (double share : {-1.0, 0.0, 1.0, 7.0}) {
    SearchOptions options = options_of(1, 64);
    options.random_share = share;
    TuningSearch search({tasks[0].space.get()}, {1.0}, options);
    EXPECT_THAT(run(search, tasks), SizeIs(64)) << share;
  }
}

TEST(TuningSearch, EndsEarlyWhenNothingIsGained) {
  auto tasks = one(bowl(3, 5));
  tasks[0].time_ns = [](const Point&) { return 100.0; };
  TuningSearch search({tasks[0].space.get()}, {1.0}, options_of(1, 1000));
  run(search, tasks);
  EXPECT_EQ(search.trials(0), 64u);  // guesses, then three rounds
}

TEST(TuningSearch, EndsWhenAllPointsFail) {
  auto tasks = one(bowl(3, 5));
  tasks[0].time_ns = [](const Point&) { return kNever; };
  TuningSearch search({tasks[0].space.get()}, {1.0}, options_of(1, 1000));
  run(search, tasks);
  EXPECT_EQ(search.trials(0), 64u);
  EXPECT_EQ(search.best_ns(0), kNever);
  EXPECT_FALSE(search.best_point(0));
}

TEST(TuningSearch, MeasuresSmallSpacesAsAWhole) {
  std::vector<Synthetic> tasks;
  for (int n : {1, 5, 30}) {
    auto space = std::make_unique<Space>(
        Space{cat("task ", n), "k", 1, 1, {{"n", numbers(1, n)}}, {{{"n", "1"}}}});
    tasks.push_back(
        {std::move(space), [n](const Point& point) { return 1e4 * n / std::stod(point.at("n")); }});
  }
  const std::vector<const Space*> spaces = {tasks[0].space.get(), tasks[1].space.get(),
                                            tasks[2].space.get()};
  TuningSearch search(spaces, {1.0, 1.0, 1.0}, options_of(1, 1000));
  run(search, tasks);
  EXPECT_EQ(search.trials(0), 1u);
  EXPECT_EQ(search.trials(1), 5u);
  EXPECT_EQ(search.trials(2), 30u);
  EXPECT_EQ(search.best_point(2), (Point{{"n", "30"}}));
}

TEST(TuningSearch, TakesSpacesWithoutPointsAndWithoutTasks) {
  TuningSearch none({}, {});
  EXPECT_THAT(none.next(16), IsEmpty());
  const Space no_value{"a", "k", 1, 1, {{"n", {}}}, {}}, no_knob{"b", "k", 1, 1, {}, {}};
  TuningSearch search({&no_value, &no_knob}, {1.0, 1.0});
  const auto batch = search.next(16);
  ASSERT_THAT(batch, SizeIs(1));
  EXPECT_EQ(batch[0].task, 1u);
  EXPECT_EQ(batch[0].point, Point());
  search.add(1, {}, 5);
  EXPECT_THAT(search.next(16), IsEmpty());
  EXPECT_EQ(search.best_ns(1), 5);
  EXPECT_EQ(search.best_point(1), Point());
}

TEST(TuningSearch, GivesProposalsWhileResultsAreMissing) {
  const auto tasks = one(bowl(3, 5));
  TuningSearch search({tasks[0].space.get()}, {1.0}, options_of(1, 40));
  std::set<Point> seen;
  for (size_t n : {3u, 13u, 5u, 11u, 8u}) {
    const auto batch = search.next(n);
    EXPECT_THAT(batch, SizeIs(n));
    for (const Proposal& proposal : batch) EXPECT_TRUE(seen.insert(proposal.point).second);
  }
  EXPECT_THAT(search.next(1), IsEmpty());
  EXPECT_EQ(search.trials(0), 0u);
}

TEST(TuningSearch, TakesABadTimeAsAFailureAndALaterOneInstead) {
  const auto tasks = one(bowl(3, 5));
  TuningSearch search({tasks[0].space.get()}, {1.0});
  const auto batch = search.next(4);
  search.add(0, batch[0].point, std::nan(""));
  search.add(0, batch[1].point, 0);
  EXPECT_EQ(search.best_ns(0), kNever);
  search.add(0, batch[2].point, 50);
  search.add(0, batch[3].point, 70);
  EXPECT_EQ(search.best_ns(0), 50);
  search.add(0, batch[2].point, 90);  // measured again
  EXPECT_EQ(search.best_ns(0), 70);
  EXPECT_EQ(search.best_point(0), batch[3].point);
  EXPECT_EQ(search.trials(0), 4u);
}

TEST(TuningSearch, GoesOnWhenTheModelFails) {
  const auto tasks = one(bowl(3, 5));
  SearchOptions options = options_of(1, 64);
  options.model = {"broken", [](const Matrix&, std::span<const float>) -> Result<Predictor> {
                     return Status(Code::kResourceExhausted, "no memory");
                   }};
  TuningSearch search({tasks[0].space.get()}, {1.0}, options);
  EXPECT_TRUE(search.model_status().ok());
  EXPECT_THAT(run(search, tasks), SizeIs(64));
  EXPECT_EQ(search.model_status().message(), "no memory");
}

// A search of a library gets what was measured, and its points are measured after the guess.
TEST(TuningSearch, MeasuresThePointsOfAnotherSearch) {
  std::vector<Synthetic> tasks = one(convolution(14, 4));
  const Space& space = *tasks[0].space;
  SearchOptions options = options_of(1, 40);
  std::vector<size_t> known;
  std::vector<Point> chosen;
  options.search = [&](const Space& of, std::span<const TriedPoint> tried, size_t count) {
    EXPECT_EQ(&of, &space);
    known.push_back(tried.size());
    std::vector<Point> out = {space.guesses[0], {{"cells", "11"}}};  // tried; outside of the space
    for (size_t k = 0; k < count; ++k) {
      Point point = space.guesses[0];
      point["chunk"] = std::to_string(1 << (chosen.size() % 10));
      point["vectors"] = std::to_string(1 + chosen.size() / 10 % 4);
      chosen.push_back(point);
      if (chosen.size() > 1) out.push_back(point);  // the first one is the guess
    }
    return out;
  };
  TuningSearch search({&space}, {1}, options);
  const std::vector<std::string> proposed = run(search, tasks);
  ASSERT_EQ(proposed.size(), 40u);
  EXPECT_EQ(proposed[0], cat("0 ", print(space.guesses[0])));
  EXPECT_EQ(proposed[1], cat("0 ", print(chosen[1])));
  EXPECT_EQ(known[0], 1u);
  EXPECT_EQ(known[1], 16u);
  EXPECT_EQ(std::set<std::string>(proposed.begin(), proposed.end()).size(), 40u);
}

TEST(TuningSearch, EndsWhenAnotherSearchHasNoPoint) {
  std::vector<Synthetic> tasks = one(convolution(14, 4));
  SearchOptions options = options_of(1, 40);
  options.search = [](const Space&, std::span<const TriedPoint>, size_t) {
    return std::vector<Point>();
  };
  TuningSearch search({tasks[0].space.get()}, {1}, options);
  EXPECT_THAT(run(search, tasks), SizeIs(1));  // the guess
}

}  // namespace
}  // namespace byoc::tune
