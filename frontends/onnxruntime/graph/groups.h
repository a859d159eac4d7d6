// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nodes that run together: convex groups, which ONNX Runtime can replace by one node each.
#include <cstdint>
#include <vector>

#include "frontends/onnxruntime/graph/graph.h"

namespace byoc::ort {

struct Group {
  std::vector<uint32_t> nodes;           ///< in the order of the graph
  std::vector<int32_t> inputs, outputs;  ///< values; constants are no inputs
};

/// Groups the nodes with `taken`. A node's level is the number of changes between taken and other
/// nodes on the way to it, so the nodes of a level are convex:
///
///   relu (taken)  ->  hash (other)  ->  add (taken)        levels 0, 1, 2
///   relu ------------------------------> add               relu and add are two groups
///
/// Cost: O(graph).
std::vector<Group> group_nodes(const Graph& graph, const std::vector<bool>& taken);

}  // namespace byoc::ort
