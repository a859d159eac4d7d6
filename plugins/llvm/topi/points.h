// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tilings as points, and points as tilings. The knobs that templates share:
//   tile         "6x2": 6 cells by 2 blocks of sums, in registers
//   o_panels     the number of panels of blocks of sums
//   unit_panels  the number of panels of units
//   chunks       the number of parts of a sum
//   row_parts    the number of parts of an image's rows
//   taps         the loop over a row of the window: "loop", "around_cells", "in_cells"
#include "plugins/llvm/tiling/cost_model.h"
#include "plugins/llvm/tiling/rows.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

std::string text_of(const RegisterTile& tile);
/// Returns the tile of a point, at most of that size.
RegisterTile tile_at(const Point& point, int64_t cells, int64_t vectors);
/// Returns the size of each of `count` parts, rounded up to a multiple of `step`, at most `whole`.
int64_t part_of(int64_t whole, int64_t count, int64_t step);

/// Returns tile, o_panels, unit_panels and chunks of a plan.
Point point_of(const Sums& sums, const Plan& plan);
/// Returns the plan of a point: plan_at(sums, point_of(sums, plan)) is `plan` for plans of
/// the cost model.
Plan plan_at(const Sums& sums, const Point& point);
/// Returns values that may be fast: tiles that fit the registers, and parts that are no larger than
/// the second cache and no smaller than is useful for the first.
Choices plan_choices(const Sums& sums, const te::Target& target);

/// Images in blocks of channels that are computed row by row.
struct RowShape {
  int64_t n, blocks, h, w;
  int64_t columns;  // of the window
};
/// Returns the template with the knobs tile, taps and row_parts, which schedules by tile_rows. The
/// Dag outlives it.
Template row_template(std::string kind, const te::Dag& dag, const AnchorDag& what,
                      const RowShape& shape, RowTiling first, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
