// SPDX-License-Identifier: Apache-2.0
// Records from earlier, of the same task and of others.
#include <gmock/gmock.h>

#include <iostream>

#include "core/tuner/search/tuner.h"
#include "synthetic.h"

namespace byoc::tune {
namespace {

Record record_of(const Space& space, const Point& point, double ns) {
  Record out;
  out.task = space.task, out.kind = space.kind;
  out.flops = space.flops, out.bytes = space.bytes, out.point = point;
  if (ns < kNever) {
    out.samples_ns = {ns * 1.1, ns};
  } else {
    out.error = "timeout";
  }
  return out;
}

Point best_point(const Synthetic& task) {
  const Grid grid(*task.space);
  Genes genes(task.space->knobs.size()), best;
  double least = kNever;
  for (size_t k = 0; k < static_cast<size_t>(grid.size()); ++k, grid.advance(genes)) {
    const double ns = task.time_ns(grid.point(genes));
    if (ns < least) least = ns, best = genes;
  }
  return grid.point(best);
}

bool has_point(const std::vector<Proposal>& batch, const Point& point) {
  return std::any_of(batch.begin(), batch.end(),
                     [&](const Proposal& proposal) { return proposal.point == point; });
}

TEST(Seed, OfTheSameTaskIsNotProposedAgain) {
  const Synthetic task = bowl(3, 5);
  TuningSearch search({task.space.get()}, {1.0});
  const Point& guess = task.space->guesses[0];
  search.seed(0, record_of(*task.space, guess, 123));
  EXPECT_EQ(search.best_ns(0), 123);
  EXPECT_EQ(search.trials(0), 0u);
  EXPECT_FALSE(has_point(search.next(16), guess));
}

TEST(Seed, WithAnErrorIsNotProposedAgain) {
  const Synthetic task = bowl(3, 5);
  TuningSearch search({task.space.get()}, {1.0});
  search.seed(0, record_of(*task.space, task.space->guesses[0], kNever));
  EXPECT_EQ(search.best_ns(0), kNever);
  EXPECT_FALSE(has_point(search.next(16), task.space->guesses[0]));
}

TEST(Seed, OfAnotherShapeComesAfterTheGuesses) {
  const Synthetic task = convolution(14, 32), other = convolution(28, 32);
  TuningSearch search({task.space.get()}, {1.0});
  const Point best = best_point(other);
  search.seed(0, record_of(*other.space, best, 10));
  search.seed(0, record_of(*other.space, task.space->guesses[0], 1000));
  const auto batch = search.next(16);
  EXPECT_EQ(batch.at(0).point, task.space->guesses[0]);
  EXPECT_EQ(batch.at(1).point, best);
  EXPECT_EQ(search.best_ns(0), kNever);
}

TEST(Seed, OutsideOfTheSpaceMovesToTheNearestPoint) {
  const Synthetic task = convolution(14, 32), other = convolution(28, 32);
  TuningSearch search({task.space.get()}, {1.0});
  search.seed(0,
              record_of(*other.space,
                        {{"cells", "12"}, {"chunk", "24"}, {"taps", "unheard"}, {"new", "1"}}, 10));
  const Point near = {
      {"cells", "10"}, {"vectors", "1"}, {"o_panel", "1"}, {"chunk", "32"}, {"taps", "loop"}};
  EXPECT_EQ(search.next(16).at(1).point, near);
}

TEST(Seed, OfAnotherKindOrOutsideOfItsOwnTaskIsSkipped) {
  const Synthetic task = convolution(14, 32), other = convolution(28, 32, "other");
  TuningSearch search({task.space.get()}, {1.0}), plain({task.space.get()}, {1.0});
  search.seed(0, record_of(*other.space, best_point(other), 10));
  search.seed(0, record_of(*task.space, {{"cells", "99"}}, 10));
  EXPECT_EQ(search.best_ns(0), kNever);
  const auto a = search.next(16), b = plain.next(16);
  for (size_t k = 0; k < 16; ++k) EXPECT_EQ(a[k].point, b[k].point);
}

TEST(Transfer, BringsTheBestOfASisterTask) {
  const Synthetic first = convolution(14, 32), second = convolution(14, 64);
  TuningSearch search({first.space.get(), second.space.get()}, {2.0, 1.0});
  const Point best = best_point(first);
  search.seed(0, record_of(*first.space, best, first.time_ns(best)));
  std::vector<Proposal> batch;
  while (batch.empty() || batch[0].task == 0) {
    batch = search.next(16);
    ASSERT_FALSE(batch.empty());
    for (const Proposal& proposal : batch)
      if (proposal.task == 0) search.add(0, proposal.point, first.time_ns(best) * 2);
  }
  EXPECT_EQ(batch.at(1).point, best);
}

TEST(Start, ComesAfterTheGuesses) {
  const Synthetic task = bowl(3, 5);
  TuningSearch search({task.space.get()}, {1.0});
  const Point start = {{"k", "16"}, {"m", "8"}, {"n", "64"}, {"u", "32"}};
  search.add_start(0, start);
  EXPECT_EQ(search.next(16).at(1).point, start);
}

// A model that has seen 128 points of each of four other shapes needs fewer trials.
TEST(Transfer, SavesTrials) {
  const Synthetic task = convolution(14, 32);
  const double best = task.best_ns();
  int with = 0, without = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (bool is_seeded : {false, true}) {
      SearchOptions options;
      options.seed = seed, options.trials = 48;
      TuningSearch search({task.space.get()}, {1.0}, options);
      Random random(seed);
      for (const auto& [width, c] : {std::pair{28, 32}, {28, 16}, {56, 8}, {7, 64}}) {
        const Synthetic other = convolution(width, c);
        const Grid grid(*other.space);
        for (int k = 0; k < 128 && is_seeded; ++k) {
          const Point point = grid.point(grid.random(random));
          search.seed(0, record_of(*other.space, point, other.time_ns(point)));
        }
      }
      for (auto batch = search.next(16); !batch.empty(); batch = search.next(16))
        for (const Proposal& proposal : batch)
          search.add(0, proposal.point, task.time_ns(proposal.point));
      (is_seeded ? with : without) += search.best_ns(0) <= 1.1 * best ? 1 : 0;
    }
  }
  std::cout << "within 10 % after 48 trials: " << with << " of 10 with records of other shapes, "
            << without << " without\n";
  EXPECT_GT(with, without);
}

TEST(TuningSearch, BeginsALightTaskWithoutRecordsBeforeAHeavyOneThatHasThem) {
  const Synthetic heavy = bowl(3, 5), light = bowl(5, 2);
  TuningSearch search({heavy.space.get(), light.space.get()}, {90.0, 10.0});
  for (const char* k : {"1", "2", "4"}) {
    const Point point = {{"k", k}, {"m", "8"}, {"n", "8"}, {"u", "8"}};
    search.seed(0, record_of(*heavy.space, point, heavy.time_ns(point)));
  }
  std::vector<size_t> order;
  for (int k = 0; k < 2; ++k) order.push_back(search.next(16)[0].task);
  EXPECT_THAT(order, testing::ElementsAre(1U, 0U));
}

}  // namespace
}  // namespace byoc::tune
