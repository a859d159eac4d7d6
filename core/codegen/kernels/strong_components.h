// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strongly connected components of a graph, on plain arrays.
#include <cstdint>
#include <vector>

namespace byoc {

/// Edges of vertex v go to target[first[v]] .. target[first[v + 1] - 1].
struct Edges {
  std::vector<uint32_t> first, target;  // one more than vertices; one per edge
  uint32_t size() const { return static_cast<uint32_t>(first.size()) - 1; }
};

/// Returns the number of each vertex's component; two vertices share one when each is reached from
/// the other. Tarjan's algorithm (SIAM J. Comput. 1972) without recursion. Cost: linear.
std::vector<uint32_t> strong_components(const Edges& edges);

}  // namespace byoc
