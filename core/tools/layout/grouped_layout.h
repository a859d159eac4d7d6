// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lays out a graph with groups of nodes. Each group is a box, which is drawn with its nodes inside
// or collapsed; rows and order are the same in both drawings.
#include <array>

#include "core/tools/layout/place.h"

namespace byoc::layout {

inline constexpr size_t kNone = SIZE_MAX;

struct GroupedGraph {
  std::vector<Size> nodes;    // in topological order; those of a group follow each other
  std::vector<size_t> group;  // by node; kNone: in no group
  std::vector<Size> groups;   // the sizes of the collapsed groups
  std::vector<Edge> edges;
};

enum Mode : size_t { kCollapsed, kExpanded };
template <class T>
using PerMode = std::array<T, 2>;

struct Point {
  double x = 0, y = 0;
};

/// A place where a value enters or leaves a box; x counts from the middle of the box.
struct Port {
  size_t source;  // the node that computes the value
  double x;
};

/// A group, or a node in no group.
struct Box {
  size_t group = kNone;
  size_t first = 0, count = 0;  // its nodes
  uint32_t row = 0;
  PerMode<Size> size;
  PerMode<double> x;          // the middle
  std::vector<Port> in, out;  // of an expanded group, sorted by source
};

/// A route between two boxes.
struct Pair {
  size_t from, to;
  PerMode<std::vector<Vertical>> verticals;
};

/// A value that goes from one box into another. A collapsed drawing has one line per pair.
struct Link {
  size_t source, pair;
};

/// An edge inside an expanded group. One of its ends is kNone when it is a port.
struct InnerLine {
  size_t from, to, box;
  std::vector<Point> points;  // from the middle of the top of the box
};

struct GroupedLayout {
  std::vector<Box> boxes;  // in topological order
  std::vector<Pair> pairs;
  std::vector<Link> links;
  std::vector<InnerLine> lines;
  std::vector<Point> at;  // by node of a group: its middle, from the middle of the top of the box
  std::vector<size_t> box_of;  // by node
  PerMode<Placed> rows;        // row_top and row_height of the boxes, and the size of the whole

  /// Returns the middle of the top of a box.
  Point top(size_t box, Mode mode) const;
  /// Returns the points of a link. The line between two of them is straight when they have the
  /// same x, else a curve that is vertical at both ends.
  std::vector<Point> points(const Link& link, Mode mode) const;
};

/// Edges may be repeated; the layout has each once. Deterministic. Cost: O(n log n) for
/// n = nodes + edges.
GroupedLayout make_grouped_layout(const GroupedGraph& graph);

}  // namespace byoc::layout
