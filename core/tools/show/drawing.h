// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes, regions and edges that a picture of a partitioned module shows, without its layout.
#include "byoc/ir/module.h"

namespace byoc::driver {

inline constexpr size_t kNoRegion = SIZE_MAX;

/// An op with a loc.
struct DrawnOp {
  Symbol op, loc;
};

struct Drawn {
  enum Look { kOp, kInput, kOutput };
  Look look = kOp;
  size_t region = kNoRegion;  // index in Drawing::regions
  std::string label, tooltip;
  std::vector<DrawnOp> ops;             // in order; kOp only
  std::vector<TypeId> inputs, outputs;  // the types of operands and results, with constants
};

struct DrawnRegion {
  std::string plugin, function;
  size_t ops = 0;
};

struct DrawnEdge {
  size_t from, to;
  std::string tooltip;
};

struct Drawing {
  std::vector<Drawn> nodes;  // in topological order; those of a region follow each other
  std::vector<DrawnRegion> regions;
  std::vector<DrawnEdge> edges;
  size_t ops_outside = 0;
};

/// Returns the number of nodes of a drawing, without making it. Cost: O(nodes).
size_t drawn_nodes(const IRModule& partitioned);
/// Makes a drawing with one node per composite and without constants. Inputs and outputs have the
/// model's names. Cost: O(nodes + edges).
Drawing make_drawing(const IRModule& partitioned);

}  // namespace byoc::driver
