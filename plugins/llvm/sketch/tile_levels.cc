// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/sketch/tile_levels.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::sketch {
namespace {

constexpr int64_t kMostTile = 1024;  // vectors of S2, which are in the first cache

int64_t extent_of(const te::Compute& own, size_t axis) { return topi::extent_of(own.axes[axis]); }

// Returns the largest factor of at most `wanted` with which `part` does not exceed the extent.
int64_t fitting(int64_t wanted, int64_t part, int64_t extent) {
  BYOC_CHECK(part > 0, "a tile of ", part, " elements");
  return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(extent / part, 1));
}

void set_outer_levels(Level& level, int64_t middle, int64_t outer, int64_t extent) {
  level.middle = fitting(middle, level.inner, extent);
  level.outer = fitting(outer, level.tile(), extent);
}

}  // namespace

const Level* TileLevels::of(size_t axis) const {
  if (lanes.axis == axis) return &lanes;
  if (rows && rows->axis == axis) return &*rows;
  return blocks && blocks->axis == axis ? &*blocks : nullptr;
}

int64_t TileLevels::inner_vectors() const {
  const int64_t row = (lanes.inner + width - 1) / width;
  return row * (rows ? rows->inner : 1) * (blocks ? blocks->inner : 1);
}

int64_t TileLevels::tile_vectors() const {
  return inner_vectors() * lanes.middle * (rows ? rows->middle : 1);
}

TileLevels levels_of(const te::Compute& own, const TileAxes& axes, const SketchRules& rules,
                     int64_t width) {
  BYOC_CHECK(width > 0 && rules.tile_vectors > 0, "a tile of ", rules.tile_vectors, " vectors of ",
             width, " lanes");
  BYOC_CHECK(axes.lanes < own.axes.size(), "axis ", axes.lanes, " of ", own.axes.size());
  TileLevels out;
  out.width = width;
  out.lanes.axis = axes.lanes;
  const int64_t extent = extent_of(own, axes.lanes), row = rules.tile_vectors * width;
  out.lanes.inner = extent >= row ? row : std::min(extent, width);
  const int64_t vectors = (out.lanes.inner + width - 1) / width;
  set_outer_levels(out.lanes, rules.middle.lanes, rules.outer.lanes, extent);
  if (axes.blocks) {
    const int64_t most = extent_of(own, *axes.blocks);
    out.blocks = Level{*axes.blocks, std::clamp<int64_t>(rules.blocks, 1, most)};
  }
  const int64_t rows = rules.sums / (vectors * (out.blocks ? out.blocks->inner : 1));
  if (axes.rows) {
    const int64_t most = extent_of(own, *axes.rows);
    out.rows = Level{*axes.rows, topi::tile_factor(most, std::max<int64_t>(rows, 1))};
    set_outer_levels(*out.rows, rules.middle.rows, rules.outer.rows, most);
  }
  while (out.tile_vectors() > kMostTile && out.lanes.middle > 1) --out.lanes.middle;
  while (out.tile_vectors() > kMostTile && out.rows && out.rows->middle > 1) --out.rows->middle;
  return out;
}

size_t longest_axis(const std::vector<te::Axis>& axes) {
  BYOC_CHECK(!axes.empty(), "the longest of no axes");
  const auto longest = std::ranges::max_element(
      axes, {}, [](const te::Axis& axis) { return topi::extent_of(axis); });
  return static_cast<size_t>(longest - axes.begin());
}

}  // namespace byoc::llvm_plugin::sketch
