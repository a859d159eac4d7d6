// SPDX-License-Identifier: Apache-2.0
// The solver of placement on graphs of 1e4 to 1e6 ops with 4 states each and random costs: chains
// with skips as transformers have them, cells that read the two cells before (NAS), and random
// graphs. The counters give the share of ops that a heuristic chose, and the gap to the bound.
#include <benchmark/benchmark.h>

#include <random>

#include "core/placement/solver/solve.h"

namespace byoc::placement {
namespace {

constexpr uint32_t kStates = 4;

class Graph {
 public:
  explicit Graph(uint32_t ops) : ops_(ops) {
    for (int k = 0; k < 64; ++k) {  // edges share their matrices, as equal borders do
      std::vector<Cost> entries(kStates * kStates);
      for (uint32_t x = 0; x < kStates; ++x) {
        for (uint32_t y = 0; y < kStates; ++y)
          entries[x * kStates + y] = x == y ? 0 : static_cast<Cost>(300 + random_() % 40'000);
      }
      matrices_.push_back(problem_.add_matrix(entries));
    }
  }
  // Adds an op that reads these.
  uint32_t op(std::initializer_list<uint32_t> operands) {
    std::vector<Cost> costs(kStates);
    for (Cost& cost : costs) cost = static_cast<Cost>(1000 + random_() % 50'000);
    const uint32_t v = problem_.add_node(costs);
    for (uint32_t u : operands) {
      if (u < v) problem_.add_edge(u, v, matrices_[random_() % matrices_.size()]);
    }
    return v;
  }
  bool is_full() const { return problem_.size() >= ops_; }
  uint32_t random(uint32_t n) { return random_() % n; }
  uint32_t size() const { return problem_.size(); }
  Problem finish() && { return std::move(problem_); }

 private:
  uint32_t ops_;
  std::mt19937 random_{1};
  Problem problem_;
  std::vector<uint64_t> matrices_;
};

Problem transformer(uint32_t ops) {
  Graph g(ops);
  uint32_t x = g.op({});
  while (!g.is_full()) {
    const uint32_t q = g.op({g.op({x})}), k = g.op({g.op({x})}), v = g.op({g.op({x})});
    const uint32_t mixed = g.op({g.op({g.op({g.op({q, k})}), v})});
    const uint32_t middle = g.op({g.op({x, mixed})});
    x = g.op({g.op({middle, g.op({g.op({g.op({middle})})})})});
  }
  return std::move(g).finish();
}

Problem cells(uint32_t ops) {
  Graph g(ops);
  uint32_t last = g.op({}), before = g.op({});
  while (!g.is_full()) {
    uint32_t made[6] = {before, last};
    for (uint32_t k = 2; k < 6; ++k) {
      const uint32_t a = made[g.random(k)], b = made[g.random(k)];
      made[k] = g.op({g.op({a}), g.op({b})});
    }
    before = last;
    last = g.op({made[2], made[3], made[4], made[5]});
  }
  return std::move(g).finish();
}

Problem random_graph(uint32_t ops) {
  Graph g(ops);
  g.op({});
  while (!g.is_full()) {
    const uint32_t window = std::min(g.size(), 64u), n = g.size();
    const uint32_t a = n - 1 - g.random(window), b = n - 1 - g.random(window);
    if (g.random(2) != 0 || a == b) g.op({a});
    else g.op({a, b});
  }
  return std::move(g).finish();
}

void solve_graph(benchmark::State& state, Problem (*make)(uint32_t)) {
  const Problem problem = make(static_cast<uint32_t>(state.range(0)));
  const Solution first = solve(problem);
  if (cost_of(problem, first.state) != first.cost || first.bound > first.cost)
    return state.SkipWithError("the solution has another cost than it reports");
  for (auto _ : state) {
    const Solution found = solve(problem);
    if (found.cost != first.cost) return state.SkipWithError("two runs differ");
  }
  state.counters["heuristic_%"] = 100.0 * first.heuristic_steps / problem.size();
  state.counters["searched"] = first.searched_cores;
  state.counters["gap_%"] =
      100.0 * static_cast<double>(first.cost - first.bound) / static_cast<double>(first.cost);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(solve_graph, transformer, transformer)->Apply(sizes);
BENCHMARK_CAPTURE(solve_graph, cells, cells)->Apply(sizes);
BENCHMARK_CAPTURE(solve_graph, random, random_graph)->Apply(sizes);

}  // namespace
}  // namespace byoc::placement

BENCHMARK_MAIN();
