// SPDX-License-Identifier: Apache-2.0
#include "core/partition/convex/regions.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "core/partition/convex/waves.h"

namespace byoc {
namespace {

// Returns the step s(u, v) of the labels. A node `alone` differs from every other node, even from
// one of its own color.
int32_t step(const RegionGraph& g, uint32_t u, uint32_t v) {
  return g.color[u] != g.color[v] || g.alone[u] || g.alone[v];
}

// Finds the label inside [lo, hi] that is shared with the heaviest neighbours of the same backend.
// The current label stays unless another one is strictly heavier; among equally heavy others, the
// smallest wins.
class BestLabel {
 public:
  void clear() { votes_.clear(); }
  void vote(int32_t label, int64_t weight) {
    for (auto& [known, sum] : votes_) {
      if (known == label) {
        sum += weight;
        return;
      }
    }
    if (votes_.size() < kMaxLabels) votes_.push_back({label, weight});
  }
  int32_t choose(int32_t now, int32_t lo, int32_t hi) const {
    int64_t best = 0;
    for (const auto& [label, sum] : votes_) {
      if (label == now) best = sum;
    }
    int32_t choice = now;
    for (const auto& [label, sum] : votes_) {
      if (label < lo || label > hi || label == now) continue;
      if (sum > best || (sum == best && choice != now && label < choice)) {
        best = sum;
        choice = label;
      }
    }
    return choice;
  }

 private:
  static constexpr size_t kMaxLabels = 32;  // keeps a node of huge degree linear
  std::vector<std::pair<int32_t, int64_t>> votes_;
};

void improve(const RegionGraph& g, const Successors& out, uint32_t v, int32_t top,
             std::vector<int32_t>& label, BestLabel& best) {
  if (g.alone[v]) return;
  int32_t lo = 0, hi = top;
  best.clear();
  for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
    uint32_t u = g.source[e];
    int32_t rise = step(g, u, v);
    lo = std::max(lo, label[u] + rise);
    if (rise == 0) best.vote(label[u], g.weight[e]);
  }
  for (uint32_t k = out.first[v]; k < out.first[v + 1]; ++k) {
    uint32_t w = out.target[k];
    int32_t rise = step(g, v, w);
    hi = std::min(hi, label[w] - rise);
    if (rise == 0) best.vote(label[w], g.weight[out.edge[k]]);
  }
  BYOC_CHECK(lo <= label[v] && label[v] <= hi, "node ", v, " has the label ", label[v],
             " outside of [", lo, ", ", hi, "]");
  label[v] = best.choose(label[v], lo, hi);
}

std::vector<int32_t> label_with(const RegionGraph& g, const Successors& out, int sweeps) {
  uint32_t n = g.size();
  BYOC_CHECK(g.alone.size() == n && g.first.size() == n + 1, n, " nodes have ", g.alone.size(),
             " flags and ", g.first.size(), " lists of edges");
  std::vector<int32_t> label(n, 0);
  int32_t top = 0;
  for (uint32_t v = 0; v < n; ++v) {
    for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
      label[v] = std::max(label[v], label[g.source[e]] + step(g, g.source[e], v));
    }
    top = std::max(top, label[v]);
  }
  BestLabel best;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    bool backward = sweep % 2 == 0;
    for (uint32_t k = 0; k < n; ++k) improve(g, out, backward ? n - 1 - k : k, top, label, best);
  }
  return label;
}

// Joins nodes that are connected by an edge and share label and backend (step 3); for a horizontal
// backend, joins all nodes of one (label, color).
void join_equal_labels(const RegionGraph& g, const RegionOptions& options,
                       const std::vector<int32_t>& label, NodeSets& regions) {
  auto may_join = [&](uint32_t v) { return !g.alone[v] && options.colors[g.color[v]].joins; };
  for (uint32_t v = 0; v < g.size(); ++v) {
    if (!may_join(v)) continue;
    for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
      uint32_t u = g.source[e];
      if (g.color[u] == g.color[v] && label[u] == label[v] && may_join(u)) regions.join(u, v);
    }
  }
  std::vector<uint32_t> order;
  for (uint32_t v = 0; v < g.size(); ++v) {
    if (may_join(v) && options.colors[g.color[v]].horizontal) order.push_back(v);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(label[a], g.color[a]) < std::pair(label[b], g.color[b]);
  });
  for (size_t k = 1; k < order.size(); ++k) {
    uint32_t a = order[k - 1], b = order[k];
    if (label[a] == label[b] && g.color[a] == g.color[b]) regions.join(a, b);
  }
}

}  // namespace

std::vector<int32_t> label_nodes(const RegionGraph& graph, int sweeps) {
  return label_with(graph, Successors(graph), sweeps);
}

namespace {

// Refines the regions joined so far (step 4) and numbers them (step 5).
std::vector<uint32_t> finish(const RegionGraph& graph, const Successors& out,
                             const RegionOptions& options, NodeSets& regions) {
  std::vector<uint32_t> order = order_by_region(graph, out, regions);
  if (options.refine_visits > 0 &&
      contract_heavy_edges(graph, out.first, out.target, options, order, regions))
    order = order_by_region(graph, out, regions);
  return number_regions(graph, options, order, regions);
}

// Returns true when no edge between regions has the same backend at both ends, so that nothing more
// can be joined.
bool is_coarsest(const RegionGraph& g, const RegionOptions& options,
                 const std::vector<uint32_t>& region) {
  for (uint32_t v = 0; v < g.size(); ++v) {
    if (g.alone[v] || !options.colors[g.color[v]].joins) continue;
    for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
      uint32_t u = g.source[e];
      if (g.color[u] == g.color[v] && region[u] != region[v] && !g.alone[u]) return false;
    }
  }
  return std::none_of(options.colors.begin(), options.colors.end(),
                      [](const ColorLimits& limits) { return limits.horizontal; });
}

}  // namespace

std::vector<uint32_t> find_regions(const RegionGraph& graph, const RegionOptions& options) {
  for (auto color : graph.color)
    BYOC_CHECK(color < options.colors.size(), "color ", color, " of ", options.colors.size());
  Successors out(graph);
  NodeSets by_label(graph.size());
  join_equal_labels(graph, options, label_with(graph, out, options.sweeps), by_label);
  std::vector<uint32_t> ours = finish(graph, out, options, by_label);
  if (options.refine_visits == 0 || is_coarsest(graph, options, ours)) return ours;
  NodeSets by_wave(graph.size());
  join_waves(graph, out, options, by_wave);
  PartitionSize mine = measure(graph, options, ours);
  PartitionSize theirs =
      measure(graph, options,
              number_regions(graph, options, order_by_region(graph, out, by_wave), by_wave));
  if (mine.regions <= theirs.regions && mine.border_tensors <= theirs.border_tensors) return ours;
  return finish(graph, out, options, by_wave);
}

}  // namespace byoc
