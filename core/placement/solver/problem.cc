// SPDX-License-Identifier: Apache-2.0
#include "core/placement/solver/problem.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc::placement {

uint32_t Problem::add_node(std::span<const Cost> costs) {
  BYOC_CHECK(!costs.empty() && costs.size() <= kMostStates, "a node of ", costs.size(), " states");
  cost.insert(cost.end(), costs.begin(), costs.end());
  first_state.push_back(static_cast<uint32_t>(cost.size()));
  return size() - 1;
}

uint64_t Problem::add_matrix(std::span<const Cost> entries) {
  BYOC_CHECK(!entries.empty(), "a matrix has an entry per pair of states");
  const uint64_t place = matrix.size();
  matrix.insert(matrix.end(), entries.begin(), entries.end());
  return place;
}

Cost cost_of(const Problem& problem, std::span<const uint8_t> state) {
  BYOC_CHECK(state.size() == problem.size(), "a state per node, got ", state.size());
  Cost sum = 0;
  for (uint32_t v = 0; v < problem.size(); ++v) {
    BYOC_CHECK(state[v] < problem.states(v), "node ", v, " has no state ", int{state[v]});
    sum = add(sum, problem.costs(v)[state[v]]);
  }
  for (const Problem::Edge& edge : problem.edges) {
    const size_t row = state[edge.u];
    sum = add(sum, problem.matrix[edge.matrix + row * problem.states(edge.v) + state[edge.v]]);
  }
  return sum;
}

Incidence::Incidence(const Problem& problem) : first(problem.size() + 1) {
  for (const Problem::Edge& edge : problem.edges) ++first[edge.u + 1], ++first[edge.v + 1];
  for (uint32_t v = 0; v < problem.size(); ++v) first[v + 1] += first[v];
  BYOC_CHECK(first.back() == 2 * problem.edges.size(), "each edge has two ends");
  edge.resize(first.back());
  std::vector<uint32_t> at(first.begin(), first.end() - 1);
  for (uint32_t e = 0; e < problem.edges.size(); ++e) {
    edge[at[problem.edges[e].u]++] = e;
    edge[at[problem.edges[e].v]++] = e;
  }
}

void improve(const Problem& problem, uint32_t sweeps, std::vector<uint8_t>& state) {
  BYOC_CHECK(state.size() == problem.size(), "a state per node, got ", state.size());
  const Incidence incidence(problem);
  std::vector<Cost> now;
  bool changed = true;
  for (uint32_t sweep = 0; sweep < sweeps && changed; ++sweep) {
    changed = false;
    for (uint32_t v = 0; v < problem.size(); ++v) {
      now.assign(problem.costs(v).begin(), problem.costs(v).end());
      for (uint32_t e : incidence.of(v)) {
        const Problem::Edge& edge = problem.edges[e];
        const Cost* entries = problem.matrix.data() + edge.matrix;
        const size_t columns = problem.states(edge.v);
        for (size_t k = 0; k < now.size(); ++k) {
          now[k] = add(now[k], edge.u == v ? entries[k * columns + state[edge.v]]
                                           : entries[state[edge.u] * columns + k]);
        }
      }
      const auto best = std::min_element(now.begin(), now.end());
      if (*best >= now[state[v]]) continue;
      state[v] = static_cast<uint8_t>(best - now.begin());
      changed = true;
    }
  }
}

}  // namespace byoc::placement
