// SPDX-License-Identifier: Apache-2.0
#pragma once
// Eliminates nodes of a problem one by one, and chooses their states in the opposite order.
#include "core/placement/solver/problem.h"

namespace byoc::placement {

class Reducer {
 public:
  explicit Reducer(const Problem& problem);

  /// Eliminates nodes with at most two neighbours until there are none (R0, R1, R2).
  void reduce();
  bool is_left(uint32_t v) const { return left_[v] != 0; }
  uint32_t degree(uint32_t v) const { return degree_[v]; }
  /// Returns the nodes that are connected with `v`, itself first; empty when they are more
  /// than `most`, or have very many edges. UINT32_MAX: no limit.
  std::vector<uint32_t> part_of(uint32_t v, uint32_t most);
  /// Returns the problem of these nodes, in their order; they have no edges to others.
  Problem extract(std::span<const uint32_t> nodes);
  /// Fixes the states of nodes without edges to others, as `extract` returned them.
  void fix_part(std::span<const uint32_t> nodes, std::span<const uint8_t> states);
  /// Fixes the state of a node that looks best next to the best states of its neighbours (RN).
  void fix_by_heuristic(uint32_t v);
  /// Returns the sum of what was eliminated without neighbours.
  Cost offset() const { return offset_; }
  /// Returns the states of all nodes, once none is left.
  std::vector<uint8_t> states();

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  struct Edge {
    uint32_t node[2];
    uint32_t next[2], previous[2];  // in the lists of half-edges of both nodes: 2 * edge + side
    uint64_t matrix;
    bool is_own;  // in own_; otherwise in the problem, where edges share entries
    bool is_left;
  };
  struct Eliminated {
    uint32_t node;
    uint32_t edge[2];
  };

  uint32_t k_of(uint32_t v) const { return problem_.states(v); }
  Cost* cost(uint32_t v) { return cost_.data() + problem_.first_state[v]; }
  const Cost* entries(const Edge& edge) const {
    return (edge.is_own ? own_.data() : problem_.matrix.data()) + edge.matrix;
  }
  uint32_t side_of(uint32_t e, uint32_t v) const { return edges_[e].node[0] == v ? 0 : 1; }
  uint32_t other(uint32_t e, uint32_t v) const { return edges_[e].node[1 - side_of(e, v)]; }
  Cost entry(uint32_t e, uint32_t v, uint32_t of_v, uint32_t of_other) const {
    const Edge& edge = edges_[e];
    const uint64_t columns = k_of(edge.node[1]);
    return entries(edge)[edge.node[0] == v ? of_v * columns + of_other : of_other * columns + of_v];
  }
  void link(uint32_t e, uint32_t side);
  void unlink(uint32_t e, uint32_t side);
  void add_edge(uint32_t u, uint32_t v, uint64_t matrix, bool is_own);
  void remove_edge(uint32_t e);
  uint32_t find_edge(uint32_t u, uint32_t v);
  void index_edges();
  uint32_t* slot(uint32_t u, uint32_t v);
  void add_matrix(uint32_t u, uint32_t v, const Cost* entries);
  void eliminate(uint32_t v);
  void fold_into_neighbour(uint32_t v, uint32_t e);
  void fold_into_edge(uint32_t v, uint32_t e, uint32_t f);
  void forget(uint32_t v);

  const Problem& problem_;
  std::vector<Cost> cost_, own_, scratch_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> head_, degree_, ready_, mark_;
  std::vector<uint8_t> left_, state_;
  std::vector<Eliminated> eliminated_;
  std::vector<uint32_t> index_;  // open addressing: edge + 1 per pair of nodes; empty until needed
  size_t indexed_ = 0;
  uint32_t marks_ = 0;
  Cost offset_ = 0;
};

}  // namespace byoc::placement
