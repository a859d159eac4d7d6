// SPDX-License-Identifier: Apache-2.0
#include "core/partition/convex/waves.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>

#include "region_graphs.h"

namespace byoc {
namespace {

using Regions = std::vector<uint32_t>;

// Color 0 means that no backend takes the node; 1 and 2 are the backends A and B. A is first.
RegionOptions two_backends() {
  RegionOptions options = options_for(3);
  options.colors[0] = {.joins = false, .is_rest = true};
  return options;
}

TEST(Waves, AChainIsCutWhereAnotherStandsBetween) {
  RegionGraph g = make_graph({1, 1, 0, 1}, {{0, 1}, {1, 2}, {2, 3}});
  EXPECT_EQ(find_wave_regions(g, two_backends()), (Regions{0, 0, 1, 2}));
}

// a(A) reads x(A) and h(rest). h reads nothing of the group {x}, so it does not close the group.
TEST(Waves, AnUnsupportedNodeThatReadsNothingOfTheGroupDoesNotCloseIt) {
  RegionGraph g = make_graph({1, 0, 1}, {{0, 2}, {1, 2}});
  Regions region = find_wave_regions(g, two_backends());
  EXPECT_EQ(region[0], region[2]);
  EXPECT_NE(region[1], region[2]);
}

// A graph of two backends: a(A); x(rest) reads a; y(B); n(A) reads a and y; m(B) reads x and y. A
// comes first and takes {a, n}; x is outside. For B this group is one node that reads y, so it
// closes the group of y, and m comes after x. The groups are {y}, {a, n}, {m}; x is before m.
TEST(Waves, TheSecondBackendSeesTheGroupsOfTheFirstAsNodes) {
  RegionGraph g = make_graph({1, 0, 2, 1, 2}, {{0, 1}, {0, 3}, {2, 3}, {1, 4}, {2, 4}});
  EXPECT_EQ(find_wave_regions(g, two_backends()), (Regions{1, 2, 0, 1, 3}));
}

// When the priorities are exchanged, B has {y, m}, and A has {a} and {n}.
TEST(Waves, PriorityDecidesWhoIsCut) {
  RegionGraph g = make_graph({2, 0, 1, 2, 1}, {{0, 1}, {0, 3}, {2, 3}, {1, 4}, {2, 4}});
  Regions region = find_wave_regions(g, two_backends());
  EXPECT_EQ(region[2], region[4]);
  EXPECT_NE(region[0], region[3]);
}

// Waves are eager: u is in the first group, although v would be the better group for it. In a0(A)
// -> h(rest) -> v(A), u(A) -> v, waves separate u from v; labels and refinement join them.
TEST(Waves, AreEagerWhereLabelsWait) {
  RegionGraph g = make_graph({1, 0, 1, 1}, {{0, 1}, {1, 3}, {2, 3}});
  Regions waves = find_wave_regions(g, two_backends());
  Regions ours = find_regions(g, two_backends());
  EXPECT_NE(waves[2], waves[3]);
  EXPECT_EQ(ours[2], ours[3]);
}

TEST(Waves, PiecesOfAGroupAreOneRegionOnlyWhenTheBackendIsHorizontal) {
  RegionGraph g = make_graph({0, 1, 1}, {{0, 1}, {0, 2}});
  RegionOptions options = two_backends();
  EXPECT_NE(find_wave_regions(g, options)[1], find_wave_regions(g, options)[2]);
  options.colors[1].horizontal = true;
  EXPECT_EQ(find_wave_regions(g, options)[1], find_wave_regions(g, options)[2]);
}

TEST(Waves, NodesAloneStayAlone) {
  RegionGraph g = make_graph({1, 1, 1}, {{0, 1}, {1, 2}});
  g.alone[1] = 1;
  EXPECT_EQ(find_wave_regions(g, two_backends()), (Regions{0, 1, 2}));
}

TEST(Waves, AreCutAtTheLimits) {
  RegionGraph g = make_graph({1, 1, 1, 1, 1}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  RegionOptions options = two_backends();
  options.colors[1].max_ops = 2;
  EXPECT_EQ(find_wave_regions(g, options), (Regions{0, 0, 1, 1, 2}));
}

TEST(Waves, AMillionNodesAreLinear) {
  constexpr uint32_t n = 1000000;
  std::vector<uint32_t> color(n);
  std::vector<TestEdge> edges;
  for (uint32_t v = 0; v < n; ++v) {
    color[v] = v % 7 == 0 ? 0 : 1 + v % 2;
    if (v > 0) edges.push_back({v - 1, v});
    if (v > 40) edges.push_back({v - 40, v});
  }
  RegionGraph g = make_graph(color, edges);
  EXPECT_TRUE(colors_are_pure(g, find_wave_regions(g, two_backends())));
}

// A second implementation of the waves, which follows the definition and uses sets. There is one
// graph per backend, in which each group made before is one node. Each connected piece of a
// group becomes a region.
class ByDefinition {
 public:
  ByDefinition(const RegionGraph& g, uint32_t colors) : node_(g.size()) {
    for (uint32_t v = 0; v < g.size(); ++v) {
      node_[v] = v;
      for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) edges_.insert({g.source[e], v});
    }
    for (uint32_t color = 1; color < colors; ++color) group(g, color);
  }
  const Regions& regions() const { return node_; }

 private:
  void group(const RegionGraph& g, uint32_t color) {
    std::map<uint32_t, std::set<uint32_t>> in, out;
    for (uint32_t v : node_) in[v], out[v];
    for (auto [u, v] : edges_) {
      if (node_[u] == node_[v]) continue;
      in[node_[v]].insert(node_[u]);
      out[node_[u]].insert(node_[v]);
    }
    std::deque<uint32_t> now, later;
    for (auto& [v, before] : in) {
      if (before.empty()) now.push_back(v);
    }
    std::set<uint32_t> border;
    std::map<uint32_t, int> wave;
    for (int open = 0; !now.empty() || !later.empty();) {
      if (now.empty()) {
        std::swap(now, later);
        border.clear();
        ++open;
      }
      uint32_t v = now.front();
      now.pop_front();
      bool is_supported = g.color[v] == color && !g.alone[v];
      if (!is_supported && border.contains(v)) {
        later.push_back(v);
        continue;
      }
      if (is_supported) {
        wave[v] = open;
        border.insert(out[v].begin(), out[v].end());
      }
      for (uint32_t next : out[v]) {
        in[next].erase(v);
        if (in[next].empty()) now.push_back(next);
      }
    }
    join(wave);
  }

  // Neighbours that opened in the same wave become one piece.
  void join(const std::map<uint32_t, int>& wave) {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [u, v] : edges_) {
        if (!wave.contains(u) || !wave.contains(v) || wave.at(u) != wave.at(v)) continue;
        uint32_t low = std::min(node_[u], node_[v]);
        changed |= node_[u] != node_[v];
        node_[u] = node_[v] = low;
      }
    }
  }
  Regions node_;  // the smallest node of its piece
  std::set<std::pair<uint32_t, uint32_t>> edges_;
};

TEST(Waves, FollowTheDefinitionOnRandomGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    RegionGraph g = random_graph(random, 2 + random() % 40, 4);
    if (random() % 4 == 0) g.alone[random() % g.size()] = 1;
    RegionOptions options = options_for(4);
    options.colors[0].joins = false;
    Regions ours = find_wave_regions(g, options), expected = ByDefinition(g, 4).regions();
    ASSERT_TRUE(quotient_is_acyclic(g, ours)) << "round " << round;
    for (uint32_t u = 0; u < g.size(); ++u) {
      for (uint32_t v = 0; v < u; ++v)
        ASSERT_EQ(ours[u] == ours[v], expected[u] == expected[v])
            << "round " << round << ": " << v << ", " << u;
    }
  }
}

// Counts regions and the distinct tensors between them with sets.
PartitionSize by_sets(const RegionGraph& g, const Regions& region) {
  std::set<uint32_t> regions;
  std::set<uint32_t> crossing;
  for (uint32_t v = 0; v < g.size(); ++v) {
    if (g.color[v] != 0) regions.insert(region[v]);
    for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
      uint32_t u = g.source[e];
      bool inside_rest = g.color[u] == 0 && g.color[v] == 0;
      if (region[u] != region[v] && !inside_rest)
        crossing.insert(g.tensor.empty() ? u : g.tensor[e]);
    }
  }
  return {regions.size(), crossing.size()};
}

TEST(FindRegions, NeverMoreRegionsOrBorderTensorsThanTheWavesOnTenThousandRandomGraphs) {
  std::mt19937 random(12);
  for (int round = 0; round < 10000; ++round) {
    RegionGraph g = random_graph(random, 2 + random() % 60, 2 + random() % 4);
    for (uint32_t e = 0; e < g.source.size(); ++e)
      g.tensor.push_back(2 * g.source[e] + static_cast<uint32_t>(random() % 2));
    RegionOptions options = options_for(5);
    options.colors[0] = {.joins = false, .is_rest = true};
    if (random() % 3 == 0) options.colors[1].max_ops = 1 + random() % 6;
    if (random() % 3 == 0) options.colors[2].horizontal = true;
    PartitionSize ours = by_sets(g, find_regions(g, options));
    PartitionSize waves = by_sets(g, find_wave_regions(g, options));
    ASSERT_LE(ours.regions, waves.regions) << "round " << round;
    ASSERT_LE(ours.border_tensors, waves.border_tensors) << "round " << round;
  }
}

TEST(Measure, CountsATensorReadInTwoPlacesOnceAndTheRestAsOnePlace) {
  // a(A) is read by two regions of B and by the rest. r1(rest) -> r2(rest) crosses no border.
  RegionGraph g = make_graph({1, 2, 2, 0, 0}, {{0, 1}, {0, 2}, {0, 3}, {3, 4}});
  PartitionSize size = measure(g, two_backends(), {0, 1, 2, 3, 4});
  EXPECT_EQ(size.regions, 3u);
  EXPECT_EQ(size.border_tensors, 1u);
}

TEST(Measure, TellsTheTensorsOfOneNodeApart) {
  RegionGraph g = make_graph({1, 2, 2}, {{0, 1}, {0, 2}});
  g.tensor = {0, 1};
  EXPECT_EQ(measure(g, two_backends(), {0, 1, 2}).border_tensors, 2u);
}

}  // namespace
}  // namespace byoc
