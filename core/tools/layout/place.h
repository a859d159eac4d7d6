// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives the cells of layers their coordinates, in pixels; y grows downwards.
#include "core/tools/layout/layers.h"

namespace byoc::layout {

struct Size {
  double width = 0, height = 0;
};

/// The distances between boxes, between rows, and between two lines.
inline constexpr double kBoxGap = 14, kRowGap = 24, kLineGap = 9;

/// A part of a route: a line straight down at `x`, from the top of one row to the bottom of another
/// one or of the same.
struct Vertical {
  uint32_t first_row, last_row;
  double x;
};

struct Placed {
  Size size;                                     // of the whole
  std::vector<double> x;                         // by cell: its middle
  std::vector<double> row_top, row_height;       // by row
  std::vector<std::vector<Vertical>> verticals;  // by edge
};

/// Places the nodes, which have `sizes`. Boxes of one row do not overlap, and neither do rows.
/// `edges` are those of make_layers. Cost: O(cells + edges).
Placed place(const Layers& layers, std::span<const Edge> edges, std::span<const Size> sizes);

}  // namespace byoc::layout
