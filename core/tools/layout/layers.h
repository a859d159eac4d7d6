// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts the nodes of a graph into rows, each below all nodes that it reads, and orders the rows so
// that few edges cross.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace byoc::layout {

/// An edge between two nodes; `from` is less than `to`.
struct Edge {
  size_t from, to;
};

/// The row of a node: chosen, the first, or the last.
enum class Pin : uint8_t { kNone, kTop, kBottom };

inline constexpr uint32_t kNoLane = UINT32_MAX;
/// An edge over more rows than this runs in a lane beside the rows.
inline constexpr uint32_t kMostBends = 12;

/// A route of an edge between the rows of its ends: bends in the rows, or a lane beside them.
struct Route {
  std::vector<uint32_t> bends;  // cells, from the upper row to the lower one
  uint32_t lane = kNoLane;
};

/// A cell is a node, or a bend: the point where an edge passes a row. All edges of one node share
/// their bends.
struct Layers {
  size_t nodes = 0;                                 // cells from this number on are bends
  std::vector<uint32_t> row;                        // by cell
  std::vector<std::vector<uint32_t>> rows;          // the cells of each row, from left to right
  std::vector<std::vector<uint32_t>> above, below;  // by cell: its neighbours in the next rows
  std::vector<Route> routes;                        // by edge
  uint32_t lanes = 0;
};

/// Makes the layers of nodes in topological order. `pins` is empty or has a pin per node. Edges may
/// be repeated. Deterministic. Cost: O(n log n) for n = nodes + edges; there are at most
/// kMostBends bends per node.
Layers make_layers(size_t nodes, std::span<const Edge> edges, std::span<const Pin> pins = {});

}  // namespace byoc::layout
