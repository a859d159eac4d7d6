// SPDX-License-Identifier: Apache-2.0
#include "core/partition/convex/edge_contraction.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr uint32_t kScansPerVisit = 16;  // edges and members scanned per allowed visit
constexpr int kMaxRespacings = 8;

// Keeps the regions in a topological order by 64-bit ranks with gaps. Contracting u -> v moves u to
// v's place; regions that u reaches before v (the search has just found all of them) move after v,
// into the gap. When a gap is full all ranks are spaced again, a bounded number of times; then
// contractions are refused, which is always safe.
class EdgeContractor {
 public:
  EdgeContractor(const RegionGraph& graph, const std::vector<uint32_t>& out_first,
                 const std::vector<uint32_t>& out_target, const RegionOptions& options,
                 const std::vector<uint32_t>& order, NodeSets& regions)
      : graph_(graph),
        out_first_(out_first),
        out_target_(out_target),
        options_(options),
        regions_(regions),
        rank_(graph.size(), 0),
        before_(graph.size(), kNone),
        after_(graph.size(), kNone),
        seen_(graph.size(), 0) {
    uint32_t previous = kNone;
    for (uint32_t v : order) {
      uint32_t region = regions_.find(v);
      if (region != previous) link(region, previous);
      previous = region;
    }
    space_ranks();
    ops_.assign(graph.size(), 0);
    bytes_.assign(graph.size(), 0);
    for (uint32_t v = 0; v < graph.size(); ++v) {
      ops_[regions_.find(v)] += graph.ops[v];
      bytes_[regions_.find(v)] += graph.bytes[v];
    }
  }
  bool run();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kGap = uint64_t{1} << 36;
  struct Edge {
    int64_t weight;
    uint32_t u, v;
  };
  std::vector<Edge> candidates();
  bool has_other_path(uint32_t u, uint32_t v);
  bool try_contract(uint32_t u, uint32_t v);
  bool move_after(uint32_t v);
  /// Inserts `region` after `previous`; kNone: at the head.
  void link(uint32_t region, uint32_t previous) {
    uint32_t next = previous == kNone ? head_ : after_[previous];
    before_[region] = previous;
    after_[region] = next;
    (previous == kNone ? head_ : after_[previous]) = region;
    if (next != kNone) before_[next] = region;
  }
  void unlink(uint32_t region) {
    uint32_t before = before_[region], next = after_[region];
    (before == kNone ? head_ : after_[before]) = next;
    if (next != kNone) before_[next] = before;
  }
  void space_ranks() {
    uint64_t rank = 0;
    for (uint32_t region = head_; region != kNone; region = after_[region])
      rank_[region] = rank += kGap;
  }

  const RegionGraph& graph_;
  const std::vector<uint32_t>&out_first_, &out_target_;
  const RegionOptions& options_;
  NodeSets& regions_;
  std::vector<uint64_t> rank_, ops_, bytes_;  // per representative
  std::vector<uint32_t> before_, after_;      // linked list in order of rank
  std::vector<uint32_t> seen_;                // stamp of the last search
  std::vector<uint32_t> reached_;             // by the last search, between u and v
  uint32_t head_ = kNone, stamp_ = 0;
  int respacings_ = 0;
};

std::vector<EdgeContractor::Edge> EdgeContractor::candidates() {
  std::vector<Edge> edges;
  for (uint32_t v = 0; v < graph_.size(); ++v) {
    if (graph_.alone[v] || !options_.colors[graph_.color[v]].joins) continue;
    for (uint32_t e = graph_.first[v]; e < graph_.first[v + 1]; ++e) {
      uint32_t u = graph_.source[e];
      if (graph_.color[u] != graph_.color[v] || graph_.alone[u]) continue;
      if (regions_.find(u) != regions_.find(v)) edges.push_back({graph_.weight[e], u, v});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.weight > b.weight; });
  return edges;
}

// Searches forward from u over regions ranked before v. Returns true when it finds another path,
// and when the budget is used up.
bool EdgeContractor::has_other_path(uint32_t u, uint32_t v) {
  ++stamp_;
  reached_.clear();
  std::vector<uint32_t> stack = {u};
  uint32_t scans = options_.refine_visits * kScansPerVisit;
  while (!stack.empty()) {
    uint32_t region = stack.back();
    stack.pop_back();
    for (uint32_t member : regions_.members(region)) {
      if (scans-- == 0) return true;
      for (uint32_t k = out_first_[member]; k < out_first_[member + 1]; ++k) {
        if (scans-- == 0) return true;
        uint32_t next = regions_.find(out_target_[k]);
        if (next == region || seen_[next] == stamp_ || rank_[next] > rank_[v]) continue;
        if (next == v) {
          if (region != u) return true;
          continue;
        }
        if (reached_.size() == options_.refine_visits) return true;
        seen_[next] = stamp_;
        reached_.push_back(next);
        stack.push_back(next);
      }
    }
  }
  return false;
}

// Moves the reached regions, in their order, after v.
bool EdgeContractor::move_after(uint32_t v) {
  if (reached_.empty()) return true;
  uint64_t end = after_[v] == kNone ? rank_[v] + kGap : rank_[after_[v]];
  uint64_t room = (end - rank_[v]) / (reached_.size() + 1);
  if (room == 0) {
    if (++respacings_ > kMaxRespacings) return false;
    space_ranks();
    return move_after(v);
  }
  std::sort(reached_.begin(), reached_.end(),
            [&](uint32_t a, uint32_t b) { return rank_[a] < rank_[b]; });
  uint64_t rank = rank_[v];
  uint32_t previous = v;
  for (uint32_t region : reached_) {
    unlink(region);
    link(region, previous);
    rank_[region] = rank += room;
    previous = region;
  }
  return true;
}

bool EdgeContractor::try_contract(uint32_t u, uint32_t v) {
  const ColorLimits& limits = options_.colors[graph_.color[u]];
  if (ops_[u] + ops_[v] > limits.max_ops || bytes_[u] + bytes_[v] > limits.max_bytes) return false;
  BYOC_CHECK(u != v && rank_[u] < rank_[v], "region ", u, " is not before region ", v);
  if (has_other_path(u, v) || !move_after(v)) return false;
  uint64_t rank = rank_[v], ops = ops_[u] + ops_[v], bytes = bytes_[u] + bytes_[v];
  regions_.join(u, v);
  uint32_t joined = regions_.find(u);
  unlink(u);
  if (joined == u) {  // u's number, v's place
    uint32_t before = before_[v];
    unlink(v);
    link(u, before);
  }
  rank_[joined] = rank;
  ops_[joined] = ops;
  bytes_[joined] = bytes;
  return true;
}

bool EdgeContractor::run() {
  bool any = false;
  for (const Edge& edge : candidates()) {
    uint32_t u = regions_.find(edge.u), v = regions_.find(edge.v);
    if (u != v) any |= try_contract(u, v);
  }
  return any;
}

}  // namespace

bool contract_heavy_edges(const RegionGraph& graph, const std::vector<uint32_t>& out_first,
                          const std::vector<uint32_t>& out_target, const RegionOptions& options,
                          const std::vector<uint32_t>& order, NodeSets& regions) {
  BYOC_CHECK(order.size() == graph.size() && out_first.size() == order.size() + 1, order.size(),
             " of ", graph.size(), " nodes have a place");
  return EdgeContractor(graph, out_first, out_target, options, order, regions).run();
}

}  // namespace byoc
