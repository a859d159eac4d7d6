// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs for the tests of regions, and the invariants of their partitions.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "core/partition/convex/regions.h"

namespace byoc {

struct TestEdge {
  uint32_t u, v;
};

inline RegionGraph make_graph(const std::vector<uint32_t>& colors, std::vector<TestEdge> edges) {
  RegionGraph g;
  g.color = colors;
  g.alone.assign(colors.size(), 0);
  g.ops.assign(colors.size(), 1);
  g.bytes.assign(colors.size(), 0);
  std::stable_sort(edges.begin(), edges.end(), [](TestEdge a, TestEdge b) { return a.v < b.v; });
  g.first.assign(colors.size() + 1, 0);
  for (TestEdge e : edges) {
    ++g.first[e.v + 1];
    g.source.push_back(e.u);
    g.weight.push_back(1);
  }
  std::partial_sum(g.first.begin(), g.first.end(), g.first.begin());
  return g;
}

inline RegionOptions options_for(uint32_t colors) {
  RegionOptions options;
  options.colors.resize(colors);
  return options;
}

// Checks with Kahn's algorithm that the quotient is acyclic. Shares no code with
// the code under test.
inline bool quotient_is_acyclic(const RegionGraph& g, const std::vector<uint32_t>& region) {
  uint32_t count = *std::max_element(region.begin(), region.end()) + 1;
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t v = 0; v < g.size(); ++v) {
    for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
      if (region[g.source[e]] != region[v]) edges.insert({region[g.source[e]], region[v]});
    }
  }
  std::vector<uint32_t> indegree(count, 0), ready;
  for (auto [u, v] : edges) ++indegree[v];
  for (uint32_t r = 0; r < count; ++r) {
    if (indegree[r] == 0) ready.push_back(r);
  }
  uint32_t done = 0;
  while (!ready.empty()) {
    uint32_t r = ready.back();
    ready.pop_back();
    ++done;
    for (auto it = edges.lower_bound({r, 0}); it != edges.end() && it->first == r; ++it) {
      if (--indegree[it->second] == 0) ready.push_back(it->second);
    }
  }
  return done == count;
}

inline bool colors_are_pure(const RegionGraph& g, const std::vector<uint32_t>& region) {
  std::vector<int> color(g.size(), -1);
  for (uint32_t v = 0; v < g.size(); ++v) {
    int& known = color[region[v]];
    if (known >= 0 && known != static_cast<int>(g.color[v])) return false;
    known = static_cast<int>(g.color[v]);
  }
  return true;
}

inline RegionGraph random_graph(std::mt19937& random, uint32_t n, uint32_t colors) {
  std::vector<uint32_t> color(n);
  std::vector<TestEdge> edges;
  uint32_t sticky = std::uniform_int_distribution<uint32_t>(1, 6)(random);
  for (uint32_t v = 0; v < n; ++v) {
    color[v] = v > 0 && random() % sticky ? color[v - 1] : random() % colors;
    uint32_t degree = v == 0 ? 0 : 1 + random() % 3;
    for (uint32_t k = 0; k < degree; ++k) {
      uint32_t reach = random() % 4 == 0 ? v : std::min(v, 6u);
      edges.push_back({v - 1 - static_cast<uint32_t>(random() % reach), v});
    }
  }
  RegionGraph g = make_graph(color, edges);
  for (int64_t& weight : g.weight) weight = random() % 5;
  return g;
}

}  // namespace byoc
