// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the levels of a tile, within the extents of a reduction.
#include "plugins/llvm/sketch/sketcher.h"

namespace byoc::llvm_plugin::sketch {

inline constexpr int64_t kMostWritten = 64;  // vectors of a tile that are written out

/// One axis: S3 has `inner` elements, S2 `middle` times as many, S1 `outer` times those of S2.
struct Level {
  size_t axis = 0;
  int64_t inner = 1, middle = 1, outer = 1;
  int64_t tile() const { return inner * middle; }
};

/// The axes of a tile.
struct TileLevels {
  Level lanes;
  std::optional<Level> rows, blocks;
  int64_t width = 1;                   // elements of a vector
  const Level* of(size_t axis) const;  // nullptr: the tile has one element of it
  int64_t inner_vectors() const;       // of S3
  int64_t tile_vectors() const;        // of S2
};
TileLevels levels_of(const te::Compute& reduction, const TileAxes& axes, const SketchRules& rules,
                     int64_t width);

/// Returns the axis of the greatest extent, of equal ones the first.
size_t longest_axis(const std::vector<te::Axis>& axes);

}  // namespace byoc::llvm_plugin::sketch
