// SPDX-License-Identifier: Apache-2.0
#include "core/placement/solver/solve.h"

#include <gtest/gtest.h>

#include <random>

#include "core/placement/solver/core_search.h"
#include "core/placement/solver/lower_bound.h"

namespace byoc::placement {
namespace {

constexpr uint64_t kMostChoices = 20'000;

struct Shape {
  uint32_t nodes = 1, most_states = 4, most_operands = 2;
  Cost most_cost = 20;      // small: many equal solutions
  uint32_t forbidden = 10;  // one in so many entries; 0: none
};

Cost random_cost(std::mt19937& random, const Shape& shape) {
  if (shape.forbidden > 0 && random() % shape.forbidden == 0) return kForbidden;
  return static_cast<Cost>(random() % shape.most_cost) - shape.most_cost / 4;
}

// A DAG as programs have it: every node but some reads earlier ones.
Problem random_dag(std::mt19937& random, const Shape& shape) {
  Problem problem;
  std::vector<Cost> costs;
  for (uint32_t v = 0; v < shape.nodes; ++v) {
    costs.resize(1 + random() % shape.most_states);
    for (Cost& cost : costs) cost = random_cost(random, shape);
    problem.add_node(costs);
    for (uint32_t k = random() % (shape.most_operands + 1); k > 0 && v > 0; --k) {
      const uint32_t u = random() % v;
      std::vector<Cost> entries(size_t{problem.states(u)} * problem.states(v));
      for (Cost& cost : entries) cost = random_cost(random, shape);
      const bool turned = random() % 2 != 0;  // rows of the later node
      const uint64_t matrix = problem.add_matrix(entries);
      if (turned) problem.add_edge(v, u, matrix);
      else problem.add_edge(u, v, matrix);
    }
  }
  return problem;
}

uint64_t choices(const Problem& problem) {
  uint64_t product = 1;
  for (uint32_t v = 0; v < problem.size() && product <= kMostChoices; ++v)
    product *= problem.states(v);
  return product;
}

Cost exhaustive(const Problem& problem) {
  std::vector<uint8_t> state(problem.size(), 0);
  Cost best = kForbidden;
  for (;;) {
    best = std::min(best, cost_of(problem, state));
    uint32_t v = 0;
    while (v < problem.size() && ++state[v] == problem.states(v)) state[v++] = 0;
    if (v == problem.size()) return best;
  }
}

TEST(Solve, EqualsExhaustiveSearchOnAThousandRandomDags) {
  std::mt19937 random(1);
  int compared = 0, infeasible = 0;
  while (compared < 1000) {
    Shape shape{.nodes = 1 + static_cast<uint32_t>(random() % 14),
                .most_states = 1 + static_cast<uint32_t>(random() % 4),
                .most_operands = 1 + static_cast<uint32_t>(random() % 4),
                .most_cost = 4 + static_cast<Cost>(random() % 1000),
                .forbidden = static_cast<uint32_t>(random() % 3) * 8};
    const Problem problem = random_dag(random, shape);
    if (choices(problem) > kMostChoices) continue;
    ++compared;
    const Cost expected = exhaustive(problem);
    const Solution found = solve(problem);
    ASSERT_EQ(found.cost, expected) << "problem " << compared;
    ASSERT_EQ(found.heuristic_steps, 0u) << "problem " << compared;
    ASSERT_TRUE(found.is_optimal());
    ASSERT_EQ(cost_of(problem, found.state), found.cost);
    infeasible += expected >= kForbidden;
  }
  EXPECT_LT(infeasible, 500);  // most of them have a solution
}

TEST(Solve, NoNodesCostNothing) {
  const Solution found = solve(Problem());
  EXPECT_EQ(found.cost, 0);
  EXPECT_TRUE(found.is_optimal());
}

TEST(Solve, TheFirstOfEqualStatesIsChosen) {
  Problem problem;
  for (int k = 0; k < 50; ++k) problem.add_node(std::vector<Cost>{3, 3, 3});
  const uint64_t same = problem.add_matrix(std::vector<Cost>{0, 1, 1, 1, 0, 1, 1, 1, 0});
  for (uint32_t v = 1; v < 50; ++v) problem.add_edge(v - 1, v, same);
  EXPECT_EQ(solve(problem).state, std::vector<uint8_t>(50, 0));
}

TEST(Solve, SameProblemGivesTheSameStates) {
  std::mt19937 random(2);
  const Problem problem = random_dag(random, {.nodes = 500, .most_operands = 6});
  EXPECT_EQ(solve(problem).state, solve(problem).state);
}

// Dynamic programming along the chain is another exact algorithm.
TEST(Solve, LongChainEqualsDynamicProgramming) {
  std::mt19937 random(3);
  constexpr uint32_t kNodes = 20'000, kStates = 3;
  Problem problem;
  std::vector<Cost> now(kStates, 0), before;
  for (uint32_t v = 0; v < kNodes; ++v) {
    std::vector<Cost> costs(kStates), entries(size_t{kStates} * kStates);
    for (Cost& cost : costs) cost = static_cast<Cost>(random() % 100);
    for (Cost& cost : entries) cost = static_cast<Cost>(random() % 100);
    problem.add_node(costs);
    before = now;
    now = costs;
    if (v == 0) continue;
    problem.add_edge(v - 1, v, problem.add_matrix(entries));
    for (uint32_t y = 0; y < kStates; ++y) {
      Cost best = kForbidden;
      for (uint32_t x = 0; x < kStates; ++x)
        best = std::min(best, before[x] + entries[size_t{x} * kStates + y]);
      now[y] += best;
    }
  }
  const Solution found = solve(problem);
  EXPECT_EQ(found.cost, *std::min_element(now.begin(), now.end()));
  EXPECT_EQ(found.heuristic_steps, 0u);
}

// Two hubs with common neighbours: eliminating one neighbour after the other always adds to the
// same edge, which must be found although both hubs have many.
TEST(Solve, ManyPathsBetweenTwoHubsAddUp) {
  constexpr uint32_t kPaths = 20'000;
  Problem problem;
  const std::vector<Cost> free{0, 0};
  problem.add_node(free);
  problem.add_node(free);
  const uint64_t differ = problem.add_matrix(std::vector<Cost>{0, 1, 1, 0});
  const uint64_t equal = problem.add_matrix(std::vector<Cost>{2, 0, 0, 2});
  for (uint32_t k = 0; k < kPaths; ++k) {
    const uint32_t v = problem.add_node(free);
    problem.add_edge(0, v, differ);  // v like hub 0: 1 when it differs
    problem.add_edge(v, 1, equal);   // and unlike hub 1: 2 when it is equal
  }
  const Solution found = solve(problem);
  EXPECT_EQ(found.cost, 0);  // the hubs differ, all others are as hub 0
  EXPECT_NE(found.state[0], found.state[1]);
  EXPECT_EQ(found.heuristic_steps, 0u);
}

TEST(Solve, CompleteGraphsAreSearched) {
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    Problem problem;
    for (uint32_t v = 0; v < 9; ++v) {
      std::vector<Cost> costs(3);
      for (Cost& cost : costs) cost = static_cast<Cost>(random() % 50);
      problem.add_node(costs);
      for (uint32_t u = 0; u < v; ++u) {
        std::vector<Cost> entries(9);
        for (Cost& cost : entries) cost = static_cast<Cost>(random() % 50);
        problem.add_edge(u, v, problem.add_matrix(entries));
      }
    }
    const Solution found = solve(problem);
    EXPECT_EQ(found.cost, exhaustive(problem));
    EXPECT_EQ(found.searched_cores, 1u);
    EXPECT_EQ(found.heuristic_steps, 0u);
  }
}

TEST(Solve, LargeCoresAreReportedAsHeuristicWithAValidBound) {
  std::mt19937 random(5);
  const Problem problem =
      random_dag(random, {.nodes = 400, .most_operands = 8, .most_cost = 1000, .forbidden = 0});
  const Solution found = solve(problem);
  EXPECT_GT(found.heuristic_steps, 0u);
  EXPECT_LE(found.bound, found.cost);
  EXPECT_EQ(cost_of(problem, found.state), found.cost);
  std::vector<uint8_t> state(problem.size());
  for (int round = 0; round < 200; ++round) {
    for (uint32_t v = 0; v < problem.size(); ++v)
      state[v] = static_cast<uint8_t>(random() % problem.states(v));
    improve(problem, 5, state);
    EXPECT_GE(cost_of(problem, state), found.bound);
  }
}

TEST(LowerBound, IsNeverAboveTheBestSolution) {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    const Problem problem =
        random_dag(random, {.nodes = 1 + static_cast<uint32_t>(random() % 10),
                            .most_states = 3,
                            .most_operands = 4,
                            .forbidden = static_cast<uint32_t>(random() % 2) * 12});
    if (choices(problem) > kMostChoices) continue;
    EXPECT_LE(lower_bound(problem, 5), exhaustive(problem)) << round;
  }
}

TEST(MoveCosts, KeepsTheCostOfEveryChoice) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Problem problem = random_dag(random, {.nodes = 12, .most_operands = 3, .forbidden = 0});
    const Moved moved = move_costs(problem, 4);
    std::vector<uint8_t> state(problem.size());
    for (uint32_t v = 0; v < problem.size(); ++v)
      state[v] = static_cast<uint8_t>(random() % problem.states(v));
    EXPECT_EQ(cost_of(moved.problem, state), cost_of(problem, state));
  }
}

TEST(SearchCore, StopsAtItsLimitWithASolution) {
  std::mt19937 random(8);
  const Problem problem = random_dag(random, {.nodes = 30, .most_operands = 8, .forbidden = 0});
  const Searched cut = search_core(problem, 10), full = search_core(problem, 1'000'000);
  EXPECT_FALSE(cut.is_exact);
  EXPECT_TRUE(full.is_exact);
  EXPECT_GE(cost_of(problem, cut.state), cost_of(problem, full.state));
}

TEST(Improve, EndsWhereNoSingleChangeLowersTheCost) {
  std::mt19937 random(9);
  const Problem problem = random_dag(random, {.nodes = 60, .most_operands = 3});
  std::vector<uint8_t> state(problem.size(), 0);
  improve(problem, 1000, state);
  const Cost cost = cost_of(problem, state);
  for (uint32_t v = 0; v < problem.size(); ++v) {
    std::vector<uint8_t> changed = state;
    for (uint32_t k = 0; k < problem.states(v); ++k) {
      changed[v] = static_cast<uint8_t>(k);
      if (cost < kForbidden) {
        EXPECT_GE(cost_of(problem, changed), cost);
      }
    }
  }
}

}  // namespace
}  // namespace byoc::placement
