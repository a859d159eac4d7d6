// SPDX-License-Identifier: Apache-2.0
#include "core/partition/convex/region_order.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"

namespace byoc {

Successors::Successors(const RegionGraph& graph)
    : first(graph.size() + 1, 0), edge(graph.source.size()), target(graph.source.size()) {
  for (uint32_t u : graph.source) {
    BYOC_CHECK(u < graph.size(), "an edge begins at node ", u, " of ", graph.size());
    ++first[u + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (uint32_t v = 0; v < graph.size(); ++v) {
    for (uint32_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
      uint32_t slot = next[graph.source[e]]++;
      edge[slot] = e;
      target[slot] = v;
    }
  }
}

// Orders the regions by Kahn's algorithm; of the regions that a finished region makes ready, the
// one with the smallest first node comes first.
std::vector<uint32_t> order_by_region(const RegionGraph& g, const Successors& out,
                                      NodeSets& regions) {
  uint32_t n = g.size();
  std::vector<uint32_t> waiting(n, 0), order;
  for (uint32_t v = 0; v < n; ++v) {
    for (uint32_t e = g.first[v]; e < g.first[v + 1]; ++e) {
      if (regions.find(g.source[e]) != regions.find(v)) ++waiting[regions.find(v)];
    }
  }
  std::vector<uint32_t> ready;  // a stack: neighbours stay close together
  for (uint32_t v = n; v-- > 0;) {
    if (regions.find(v) == v && waiting[v] == 0) ready.push_back(v);
  }
  order.reserve(n);
  while (!ready.empty()) {
    uint32_t region = ready.back();
    ready.pop_back();
    size_t from = order.size();
    for (uint32_t v : regions.members(region)) order.push_back(v);
    std::sort(order.begin() + static_cast<ptrdiff_t>(from), order.end());
    for (size_t k = order.size(); k-- > from;) {
      uint32_t v = order[k];
      for (uint32_t s = out.first[v + 1]; s-- > out.first[v];) {
        uint32_t next = regions.find(out.target[s]);
        if (next != region && --waiting[next] == 0) ready.push_back(next);
      }
    }
  }
  BYOC_CHECK(order.size() == n, "the quotient of regions has a cycle: ", order.size(), " of ", n,
             " nodes ordered");
  return order;
}

// Cuts a region above the limits into runs of `order` (step 5). The result is acyclic, because it
// is a partition into intervals of one topological order.
std::vector<uint32_t> number_regions(const RegionGraph& g, const RegionOptions& options,
                                     const std::vector<uint32_t>& order, NodeSets& regions) {
  BYOC_CHECK(order.size() == g.size(), order.size(), " of ", g.size(), " nodes have a place");
  std::vector<uint32_t> number(g.size());
  uint32_t next = 0, current = UINT32_MAX;
  uint64_t ops = 0, bytes = 0;
  for (uint32_t v : order) {
    const ColorLimits& limits = options.colors[g.color[v]];
    bool same = regions.find(v) == current;
    bool full = ops + g.ops[v] > limits.max_ops || bytes + g.bytes[v] > limits.max_bytes;
    if (!same || full) {
      ++next;
      ops = bytes = 0;
      current = regions.find(v);
    }
    ops += g.ops[v];
    bytes += g.bytes[v];
    number[v] = next - 1;
  }
  return number;
}

}  // namespace byoc
