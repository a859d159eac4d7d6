// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws a partitioned module in the dot language: ops coloured by plugin, a box per region.
#include "byoc/ir/module.h"

namespace byoc::driver {

/// The largest number of nodes in a picture. Graphviz needs minutes for more, and the picture
/// cannot be read.
inline constexpr size_t kDrawnNodes = 2000;

struct Picture {
  std::string dot;
  size_t nodes = 0;        // drawn, inputs and outputs among them
  bool is_folded = false;  // a node per region, since there were too many ops
  size_t unfolded_nodes = 0;
};

/// Draws each composite as one node and no constants. With more than `max_nodes` nodes each region
/// becomes one node. Deterministic. Cost: O(nodes + edges). Errors: slug "too-large" when those are
/// more than `max_nodes` as well.
Result<Picture> draw(const IRModule& partitioned, const std::string& title,
                     size_t max_nodes = kDrawnNodes);

}  // namespace byoc::driver
