// SPDX-License-Identifier: Apache-2.0
#pragma once
// Step 4 of the partition: contracts edges between regions of one backend when no other path leads
// from one region to the other.
#include <numeric>
#include <vector>

#include "core/partition/convex/regions.h"

namespace byoc {

/// Disjoint sets of nodes (union-find) with lists of their members. The representative of a set is
/// its smallest member.
class NodeSets {
 public:
  explicit NodeSets(uint32_t n) : parent_(n), next_(n), last_(n) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    std::fill(next_.begin(), next_.end(), kEnd);
    std::iota(last_.begin(), last_.end(), 0u);
  }
  uint32_t find(uint32_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    next_[last_[a]] = b;
    last_[a] = last_[b];
  }
  /// The members of a representative's set, in the order in which they were joined.
  class Members {
   public:
    struct Iterator {
      const std::vector<uint32_t>* next;
      uint32_t at;
      uint32_t operator*() const { return at; }
      Iterator& operator++() {
        at = (*next)[at];
        return *this;
      }
      bool operator!=(const Iterator& o) const { return at != o.at; }
    };
    Members(const std::vector<uint32_t>& next, uint32_t head) : next_(next), head_(head) {}
    Iterator begin() const { return {&next_, head_}; }
    Iterator end() const { return {&next_, kEnd}; }

   private:
    const std::vector<uint32_t>& next_;
    uint32_t head_;
  };
  Members members(uint32_t representative) const { return {next_, representative}; }

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  std::vector<uint32_t> parent_, next_, last_;
};

/// Contracts edges u -> v between regions of one joinable color, heaviest first, wherever a search
/// bounded by rank and by options.refine_visits proves that no other path leads from u's region to
/// v's. `order`: all nodes, regions contiguous and topologically sorted. Returns whether any edge
/// was contracted.
bool contract_heavy_edges(const RegionGraph& graph, const std::vector<uint32_t>& out_first,
                          const std::vector<uint32_t>& out_target, const RegionOptions& options,
                          const std::vector<uint32_t>& order, NodeSets& regions);

}  // namespace byoc
