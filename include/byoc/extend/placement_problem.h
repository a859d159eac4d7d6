// SPDX-License-Identifier: Apache-2.0
#pragma once
// A partitioned Boolean quadratic problem (PBQP) on plain arrays: each node gets one of its states,
// so that the sum of the costs of nodes and edges is least.
#include <cstdint>
#include <span>
#include <vector>

namespace byoc::placement {

/// Picoseconds. Integers: sums are exact in every order, so equal costs are equal.
using Cost = int64_t;
/// The cost of what must not be chosen. Finite costs are within +-kMostCost.
inline constexpr Cost kForbidden = Cost{1} << 61, kMostCost = 1'000'000'000'000'000;  // 1,000 s

/// Returns a + b; kForbidden when one of them is, or when the sum is as large.
inline Cost add(Cost a, Cost b) {
  if (a >= kForbidden || b >= kForbidden || a + b >= kForbidden) return kForbidden;
  return a + b;
}

inline constexpr uint32_t kMostStates = 64;  ///< of a node

/// The ops of a function as nodes, and the ways to run an op as the states of its node.
struct Problem {
  /// A tensor between two ops.
  struct Edge {
    uint32_t u = 0, v = 0;  ///< different nodes
    uint64_t matrix = 0;    ///< the first of states(u) * states(v) entries, rows of u
  };
  std::vector<uint32_t> first_state{
      0};                    ///< n + 1: states of v are [first_state[v], first_state[v+1])
  std::vector<Cost> cost;    ///< per state of every node
  std::vector<Edge> edges;   ///< several between the same nodes add up
  std::vector<Cost> matrix;  ///< entries; edges may share them

  uint32_t size() const { return static_cast<uint32_t>(first_state.size() - 1); }  ///< of nodes
  /// Returns the number of states of a node.
  uint32_t states(uint32_t v) const { return first_state[v + 1] - first_state[v]; }
  /// Returns the costs of the states of a node.
  std::span<const Cost> costs(uint32_t v) const {
    return {cost.data() + first_state[v], states(v)};
  }
  /// Returns the matrix of an edge, row by row.
  std::span<const Cost> entries(const Edge& edge) const {
    return {matrix.data() + edge.matrix, size_t{states(edge.u)} * states(edge.v)};
  }
  /// Append a node of 1 to kMostStates states, and a matrix; return the number and the place.
  uint32_t add_node(std::span<const Cost> costs);
  uint64_t add_matrix(std::span<const Cost> entries);  ///< see add_node
  /// Appends an edge.
  void add_edge(uint32_t u, uint32_t v, uint64_t matrix) { edges.push_back({u, v, matrix}); }
};

/// Returns the cost of a choice of states.
Cost cost_of(const Problem& problem, std::span<const uint8_t> state);

}  // namespace byoc::placement
