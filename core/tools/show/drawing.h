// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes, regions and edges that a picture of a partitioned module shows, without its layout.
#include "byoc/ir/module.h"

namespace byoc::driver {

inline constexpr size_t kNoRegion = SIZE_MAX;

struct Drawn {
  enum Look { kOp, kInput, kOutput, kRegion };
  Look look = kOp;
  size_t region = kNoRegion;  // index in Drawing::regions
  std::string label, tooltip;
};

struct DrawnRegion {
  std::string plugin, function;
  size_t ops = 0;
};

struct DrawnEdge {
  size_t from, to;
  bool is_border;  // a border tensor (core/partition/partition_metrics.h)
  std::string tooltip;
};

struct Drawing {
  std::vector<Drawn> nodes;  // in topological order
  std::vector<DrawnRegion> regions;
  std::vector<DrawnEdge> edges;
  size_t ops_outside = 0;
};

/// The number of nodes of the whole drawing, and of the folded drawing with a node per region.
struct DrawingSize {
  size_t nodes = 0, folded_nodes = 0;
};
DrawingSize drawing_size(const IRModule& partitioned);
/// Makes a drawing with one node per composite and without constants. When folded, two nodes have
/// at most one edge between them. Cost: O(nodes + edges).
Drawing make_drawing(const IRModule& partitioned, bool folded);

}  // namespace byoc::driver
