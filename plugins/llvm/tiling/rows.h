// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules windows over images in blocks of channels, in tiles of adjacent cells in one row. The
// image is read in place: conditions guard its edges, and the loops around a tile are split into
// prologue, body and epilogue, of which the body has no conditions.
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::topi {

/// The extents of a conv2d_nchwc, also of integers with sums in f32: y[n, blocks, h, w, lanes] sums
/// over [c, kh, kw, inner].
struct ConvExtents {
  int64_t n, blocks, h, w, lanes, c, kh, kw, inner;
};
/// Returns nullopt when the stage is no such convolution with f32 sums, or extents are not known.
std::optional<ConvExtents> conv_extents(const te::Stage& stage);

/// The taps of one row of the window: in a loop, or written out around the cells of a tile, or for
/// one cell after the other.
enum class Taps { kLoop, kAroundCells, kInCells };

struct RowTiling {
  int64_t cells, vectors;  // per tile: cells of a row, blocks of channels
  Taps taps;
  std::vector<std::string> around = {"r0", "r3", "r1"};  // loops of the reduction except
  std::string columns = "r2";                            // the columns of the window
  int64_t row_parts = 0;           // that threads share: a divisor of the rows; 0: the usual number
  bool has_parts_outside = false;  // the loop over them is outside of that over blocks of channels
};
/// Returns the number of parts of h rows, the same for each of `others`: few parts have few edges.
int64_t usual_row_parts(int64_t others, int64_t h);
/// Returns the least number of parts of h rows, `parts` or more, of which each of `threads` gets as
/// many, so that it has the same rows of all channels; where parts would be single rows, the least
/// that they divide evenly among themselves when there are `others` of each; h when there is none.
int64_t shared_row_parts(int64_t others, int64_t h, int64_t parts, int64_t threads);
/// Tiles the rows. Errors: those of the primitives.
Result<te::Schedule> tile_rows(const te::Dag& dag, const AnchorDag& what, const RowTiling& tiling);

/// Returns a size of at most `most`, with a last tile that is not much shorter than the others.
int64_t even_tile(int64_t extent, int64_t most);

}  // namespace byoc::llvm_plugin::topi
