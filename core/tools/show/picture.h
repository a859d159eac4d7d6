// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws a partitioned module as SVG: ops coloured by plugin, a box per region.
#include <set>

#include "byoc/ir/module.h"
#include "core/tools/layout/grouped_layout.h"
#include "core/tools/show/drawing.h"

namespace byoc::driver {

/// The largest number of nodes in a picture with every op, and of boxes in one with a box per
/// region. Browsers show a larger picture slowly, and it cannot be read.
inline constexpr size_t kDrawnNodes = 2000, kDrawnBoxes = 20'000;

struct Picture {
  std::string svg;
  size_t nodes = 0;        // drawn, inputs and outputs among them
  bool is_folded = false;  // a node per region, since there were too many ops
  size_t unfolded_nodes = 0;
};

/// Draws each composite as one node and no constants. With more than `max_nodes` nodes each region
/// becomes one node. Deterministic. Cost: O(n log n) for n = nodes + edges. Errors: slug
/// "too-large" when there are more than `max_boxes` nodes then as well. Colours are those of a
/// palette of `known` and the plugins in the picture, so that pictures and pages with equal `known`
/// have equal colours.
Result<Picture> draw(const IRModule& partitioned, const std::string& title,
                     const std::set<std::string>& known = {}, size_t max_nodes = kDrawnNodes,
                     size_t max_boxes = kDrawnBoxes);

/// Returns the layout of a drawing, whose groups are its regions. Sizes are in pixels.
layout::GroupedLayout layout_of(const Drawing& drawing);
inline constexpr double kFontSize = 11, kLineHeight = 13;
layout::Size node_size(const Drawn& node);
/// Returns the lines of a label.
std::vector<std::string> lines_of(std::string_view label);
/// Returns the words on the box of a region: "onednn · 12 ops".
std::string region_label(const DrawnRegion& region);

}  // namespace byoc::driver
