// SPDX-License-Identifier: Apache-2.0
#include "core/placement/solver/solve.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/extend/hooks.h"
#include "core/placement/solver/core_search.h"
#include "core/placement/solver/lower_bound.h"
#include "core/placement/solver/reducer.h"

namespace byoc::placement {
namespace {

constexpr uint32_t kBoundSweeps = 4, kImproveSweeps = 8;
// Visits of branch and bound: of one part, of all parts together, and of one part when those of all
// are used up or its neighbours were chosen by a heuristic.
constexpr uint64_t kVisits = 300'000, kAllVisits = 3'000'000, kFewVisits = 500;

class Solver {
 public:
  explicit Solver(const Problem& problem) : problem_(problem), reducer_(problem) {}

  Solution run() {
    reducer_.reduce();
    const std::vector<uint32_t> large = search_small_parts();
    const bool is_exact = large.empty() && exact_;
    Cost bound = reducer_.offset();
    if (!large.empty()) {
      bound = add(add(bound, searched_cost_), lower_bound(reducer_.extract(large), kBoundSweeps));
      choose_by_degree(large);
    }
    out_.state = reducer_.states();
    if (!is_exact) improve(problem_, kImproveSweeps, out_.state);
    out_.cost = cost_of(problem_, out_.state);
    out_.bound = is_exact ? out_.cost : std::min(bound, out_.cost);
    return std::move(out_);
  }

 private:
  void search(const std::vector<uint32_t>& part, uint64_t most_visits) {
    const Problem core = reducer_.extract(part);
    const Searched found = search_core(core, most_visits);
    visits_left_ -= std::min(visits_left_, found.visits);
    reducer_.fix_part(part, found.state);
    ++out_.searched_cores;
    if (!found.is_exact) out_.heuristic_steps += static_cast<uint32_t>(part.size());
    exact_ &= found.is_exact;
    searched_cost_ = add(searched_cost_, found.is_exact ? cost_of(core, found.state)
                                                        : lower_bound(core, kBoundSweeps));
  }

  // Solves the connected parts that are small enough; returns the nodes of the others.
  std::vector<uint32_t> search_small_parts() {
    std::vector<uint32_t> large;
    std::vector<uint8_t> seen(problem_.size(), 0);
    for (uint32_t v = 0; v < problem_.size(); ++v) {
      if (!reducer_.is_left(v) || seen[v]) continue;
      std::vector<uint32_t> part = reducer_.part_of(v, UINT32_MAX);
      for (uint32_t w : part) seen[w] = 1;
      if (part.size() <= kMostSearched)
        search(part, std::max(kFewVisits, std::min(kVisits, visits_left_)));
      else large.insert(large.end(), part.begin(), part.end());
    }
    std::sort(large.begin(), large.end());
    return large;
  }

  // Takes the node of the highest degree, of equal ones the lowest number, until none is left.
  // Degrees only fall, so each node moves down through the buckets.
  void choose_by_degree(const std::vector<uint32_t>& nodes) {
    uint32_t most = 0;
    for (uint32_t v : nodes) most = std::max(most, reducer_.degree(v));
    std::vector<std::vector<uint32_t>> of_degree(most + 1);
    for (auto v = nodes.rbegin(); v != nodes.rend(); ++v)
      of_degree[reducer_.degree(*v)].push_back(*v);
    for (uint32_t degree = most; degree > 0;) {
      if (of_degree[degree].empty()) {
        --degree;
        continue;
      }
      const uint32_t v = of_degree[degree].back();
      of_degree[degree].pop_back();
      if (!reducer_.is_left(v)) continue;
      if (reducer_.degree(v) < degree) {
        of_degree[reducer_.degree(v)].push_back(v);
        continue;
      }
      const std::vector<uint32_t> part = reducer_.part_of(v, kMostSearched);
      if (!part.empty()) {
        search(part, kFewVisits);
        continue;
      }
      reducer_.fix_by_heuristic(v);
      ++out_.heuristic_steps;
      reducer_.reduce();
    }
  }

  const Problem& problem_;
  Reducer reducer_;
  Solution out_;
  bool exact_ = true;
  uint64_t visits_left_ = kAllVisits;
  Cost searched_cost_ = 0;  // of searched parts, or their bound
};

// Returns the choice of a library's solver, with a bound of byoc's own.
Solution solve_by(const std::function<std::vector<uint8_t>(const Problem&)>& own,
                  const Problem& problem) {
  Solution out;
  out.state = own(problem);
  BYOC_CHECK(out.state.size() == problem.size(), "the library's solver of placement returned ",
             out.state.size(), " states for ", problem.size(), " nodes");
  for (uint32_t v = 0; v < problem.size(); ++v) {
    BYOC_CHECK(out.state[v] < problem.states(v), "the library's solver of placement returned ",
               "state ", int{out.state[v]}, " for node ", v, ", which has ", problem.states(v));
  }
  out.cost = cost_of(problem, out.state);
  out.bound = lower_bound(problem, kBoundSweeps);
  out.heuristic_steps = out.cost <= out.bound ? 0 : problem.size();
  return out;
}

}  // namespace

Solution solve(const Problem& problem) {
  const auto& own = extend::hooks().placement_solver;
  return own ? solve_by(own, problem) : Solver(problem).run();
}

}  // namespace byoc::placement
