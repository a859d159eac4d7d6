// SPDX-License-Identifier: Apache-2.0
#pragma once
// Disjoint sets of numbers (union-find).
#include <cstdint>
#include <numeric>
#include <vector>

namespace byoc {

/// The numbers below `n`, each in a set of its own until sets are joined. Both functions take
/// O(log n) on average. Not thread-safe: find() shortens paths.
class DisjointSets {
 public:
  explicit DisjointSets(size_t n = 0) : link_(n) {
    std::iota(link_.begin(), link_.end(), uint32_t{0});
  }
  /// Returns the member that represents the set of `k`. Precondition: k < n.
  uint32_t find(uint32_t k) {
    while (link_[k] != k) k = link_[k] = link_[link_[k]];
    return k;
  }
  /// Makes one set of two; the representative is that of `b`.
  void join(uint32_t a, uint32_t b) { link_[find(a)] = find(b); }

 private:
  std::vector<uint32_t> link_;  // of each number to another one of its set, or to itself
};

}  // namespace byoc
