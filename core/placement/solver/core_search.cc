// SPDX-License-Identifier: Apache-2.0
#include "core/placement/solver/core_search.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"
#include "core/placement/solver/lower_bound.h"

namespace byoc::placement {
namespace {

constexpr uint32_t kSweeps = 30;

// Depth-first search with one level per node. Level d has the costs of the nodes that are not
// chosen yet, with the edges to the chosen ones added.
class Search {
 public:
  Search(const Problem& problem, uint64_t most_visits)
      : moved_(move_costs(problem, kSweeps).problem),
        original_(problem),
        incidence_(moved_),
        most_visits_(most_visits) {
    order_nodes();
    least_of_edge_.reserve(moved_.edges.size());
    for (const Problem::Edge& edge : moved_.edges) {
      const auto entries = moved_.entries(edge);
      least_of_edge_.push_back(*std::min_element(entries.begin(), entries.end()));
    }
  }

  Searched run() {
    const uint32_t n = moved_.size();
    best_.assign(n, 0);
    for (uint32_t v = 0; v < n; ++v) {
      const auto costs = original_.costs(v);
      best_[v] = static_cast<uint8_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    }
    improve(original_, 20, best_);
    best_cost_ = cost_of(original_, best_);
    levels_.resize(n + 1);
    levels_[0].cost = moved_.cost;
    state_.assign(n, 0);
    Cost edges = 0;
    for (Cost least : least_of_edge_) edges = add(edges, least);
    levels_[0].edges = edges;
    open(0);
    size_t depth = 0;
    for (;;) {
      Level& level = levels_[depth];
      if (level.next == level.states.size() || visits_ > most_visits_) {
        if (depth == 0) break;
        --depth;
        continue;
      }
      ++visits_;
      choose(depth, level.states[level.next++]);
      if (bound_of(levels_[depth + 1], depth + 1) >= best_cost_) continue;
      if (++depth == n) {
        best_cost_ = levels_[depth].chosen;
        best_ = state_;
        --depth;
        continue;
      }
      open(depth);
    }
    return {best_, visits_ <= most_visits_, visits_};
  }

 private:
  struct Level {
    std::vector<Cost> cost;       // per state of every node
    Cost chosen = 0, edges = 0;   // of the chosen nodes; the least of the edges between others
    std::vector<uint8_t> states;  // of this level's node, best first
    size_t next = 0;
  };

  // Orders by the number of neighbours that come before, then by degree, then by number.
  void order_nodes() {
    const uint32_t n = moved_.size();
    std::vector<uint32_t> chosen_neighbours(n, 0);
    place_.assign(n, UINT32_MAX);
    for (uint32_t k = 0; k < n; ++k) {
      uint32_t best = UINT32_MAX;
      auto key = [&](uint32_t v) {
        return std::pair(chosen_neighbours[v], incidence_.of(v).size());
      };
      for (uint32_t v = 0; v < n; ++v) {
        if (place_[v] == UINT32_MAX && (best == UINT32_MAX || key(v) > key(best))) best = v;
      }
      place_[best] = k;
      order_.push_back(best);
      for (uint32_t e : incidence_.of(best)) ++chosen_neighbours[other(e, best)];
    }
  }
  uint32_t other(uint32_t e, uint32_t v) const {
    return moved_.edges[e].u == v ? moved_.edges[e].v : moved_.edges[e].u;
  }
  void open(size_t depth) {
    BYOC_CHECK(depth < order_.size(), "a level per node, and level ", depth, " is opened");
    Level& level = levels_[depth];
    const uint32_t v = order_[depth];
    level.next = 0;
    level.states.resize(moved_.states(v));
    std::iota(level.states.begin(), level.states.end(), uint8_t{0});
    const Cost* cost = level.cost.data() + moved_.first_state[v];
    std::stable_sort(level.states.begin(), level.states.end(),
                     [&](uint8_t a, uint8_t b) { return cost[a] < cost[b]; });
  }
  // Makes the level after `depth`, in which the node of `depth` has that state.
  void choose(size_t depth, uint8_t state) {
    const Level& level = levels_[depth];
    Level& next = levels_[depth + 1];
    const uint32_t v = order_[depth];
    BYOC_CHECK(state < moved_.states(v), "node ", v, " has no state ", int{state});
    state_[v] = state;
    next.cost = level.cost;
    next.chosen = add(level.chosen, level.cost[moved_.first_state[v] + state]);
    next.edges = level.edges;
    for (uint32_t e : incidence_.of(v)) {
      const uint32_t w = other(e, v);
      if (place_[w] < depth) continue;
      if (least_of_edge_[e] < kForbidden) next.edges -= least_of_edge_[e];
      const Problem::Edge& edge = moved_.edges[e];
      const Cost* entries = moved_.matrix.data() + edge.matrix;
      const uint32_t columns = moved_.states(edge.v);
      for (uint32_t k = 0; k < moved_.states(w); ++k) {
        Cost& cost = next.cost[moved_.first_state[w] + k];
        cost = add(cost, edge.u == v ? entries[uint64_t{state} * columns + k]
                                     : entries[uint64_t{k} * columns + state]);
      }
    }
  }
  Cost bound_of(const Level& level, size_t depth) const {
    Cost bound = add(level.chosen, level.edges);
    for (size_t k = depth; k < order_.size(); ++k) {
      const Cost* cost = level.cost.data() + moved_.first_state[order_[k]];
      bound = add(bound, *std::min_element(cost, cost + moved_.states(order_[k])));
    }
    return bound;
  }

  const Problem moved_;
  const Problem& original_;
  Incidence incidence_;
  uint64_t most_visits_, visits_ = 0;
  std::vector<uint32_t> order_, place_;
  std::vector<Cost> least_of_edge_;
  std::vector<Level> levels_;
  std::vector<uint8_t> state_, best_;
  Cost best_cost_ = 0;
};

}  // namespace

Searched search_core(const Problem& problem, uint64_t most_visits) {
  return Search(problem, most_visits).run();
}

}  // namespace byoc::placement
