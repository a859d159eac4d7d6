// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads annotations back: finds the region of each op from the begin and end ops.
//
// A region is entered through compiler_begin and left through compiler_end; edges inside it are
// direct. So ops joined by a direct edge are in the same region (or all outside), and the begins
// that they read and the ends on their results name it. Constants belong to no region and are read
// directly from everywhere.
#include "byoc/ir/visit.h"
#include "byoc/op/annotation.h"

namespace byoc {

inline constexpr uint32_t kOutside = UINT32_MAX;

struct Region {
  int64_t number = 0;  // attribute `region`
  Symbol compiler;
  bool open = false;  // may be joined with others
};

struct Annotations {
  std::vector<Region> regions;      // in order of their first op
  std::vector<uint32_t> region_of;  // per node; kOutside for all but ops inside
  bool is_empty() const { return regions.empty(); }
};

/// Returns the value that `value` is a copy of: skips the annotation ops that lead to it.
ValueId through_annotations(const Function& function, ValueId value);

/// Returns the region of every node, and the regions in order of their first op.
/// Errors, slug "annotation", naming function, region and node: unbalanced (a value enters or
/// leaves without its begin or end), mixed (one op, two regions; one region, two compilers),
/// nested, empty.
/// Cost: linear.
Result<Annotations> read_annotations(const Function& function, Symbol name);

/// Returns the name of a node in messages: its kind with its loc, or with its number when it has
/// none: `conv2d "Conv_0"`, `node 12 conv2d`.
std::string node_name(const Function& function, uint32_t node);

}  // namespace byoc
