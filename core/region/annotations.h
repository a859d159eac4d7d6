// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading annotations back: which op stands in which region, as the begin/end ops say.
//
// A region is entered through compiler_begin and left through compiler_end; edges inside it are
// direct. So ops joined by a direct edge stand in the same region (or all outside), and the begins
// they read and the ends on their results name it. Constants belong to nobody and are read directly
// from everywhere.
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

/// What `value` is once annotation ops are looked through.
ValueId through_annotations(const Function& function, ValueId value);

/// Errors, slug "annotation", naming function, region and node: unbalanced (a value enters or
/// leaves without its begin or end), mixed (one op, two regions; one region, two compilers),
/// nested, empty. Linear.
Result<Annotations> read_annotations(const Function& function, Symbol name);

/// "%12 conv2d ("Conv_0")": how messages name a node.
std::string node_name(const Function& function, uint32_t node);

}  // namespace byoc
