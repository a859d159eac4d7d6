// SPDX-License-Identifier: Apache-2.0
#pragma once
// A partitioned module as a graph in the dot language: ops coloured by plugin, a box per region.
#include "byoc/ir/module.h"

namespace byoc::driver {

/// More than that takes Graphviz minutes, and no reader sees it.
inline constexpr size_t kDrawnNodes = 2000;

struct Picture {
  std::string dot;
  size_t nodes = 0;        // drawn, inputs and outputs among them
  bool is_folded = false;  // a node per region, since there were too many ops
  size_t unfolded_nodes = 0;
};

/// Composites are one node each, constants none. With more than `max_nodes` nodes each region
/// becomes one node. Deterministic, linear. Errors: slug "too-large" when those are too many too.
Result<Picture> draw(const IRModule& partitioned, const std::string& title,
                     size_t max_nodes = kDrawnNodes);

}  // namespace byoc::driver
