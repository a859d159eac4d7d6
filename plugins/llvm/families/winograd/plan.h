// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits Winograd's products into batches and register tiles, and estimates their time.
#include "byoc/te/target.h"
#include "plugins/llvm/families/winograd/compute.h"
#include "plugins/llvm/tiling/register_tile.h"

namespace byoc::llvm_plugin::winograd {

/// The extents of the stages.
struct Shape {
  int64_t n = 1, c = 1, o_blocks = 1, o_block = 1;
  int64_t products = 1;  // of a tile, per pair of channels
  int64_t tile_rows = 1, tile_columns = 1;
  int64_t result_rows = 1;
  int64_t tiles_down = 1, tiles_across = 1;
  bool is_open = false;  // each run gives the numbers of tiles
  int64_t o() const { return o_blocks * o_block; }
  int64_t filter_bytes() const { return products * c * o() * 4; }
  /// Returns the bytes of both sides of the products of a row of tiles.
  int64_t row_bytes() const { return products * tiles_across * (c + o()) * 4; }
};
Shape shape_of(const Conv& conv, const Tile& tile);

/// A split: batches of `rows` rows of tiles. One of several batches ends where results do. Of open
/// images the last batch may have fewer rows, and register tiles end where rows of tiles do.
struct Plan {
  int64_t rows = 1;
  topi::RegisterTile tile;  // tiles by blocks of results
};
/// Returns the largest number of rows of a batch that is at most `rows` and that a plan may have.
int64_t rows_of_batch(const Shape& shape, int64_t rows);
/// Returns the largest number of tiles that are multiplied at once, in registers.
int64_t most_cells(const Shape& shape, int64_t rows);
/// Returns the plans that may be fast, best first.
std::vector<Plan> ranked_plans(const Shape& shape, const te::Target& target);

/// Returns the estimated cycles of one run on one core, filters transformed before.
double cycles_of(const Shape& shape, const te::Target& target);
/// Returns those of the direct convolution.
double direct_cycles_of(const Conv& conv, const te::Target& target);

}  // namespace byoc::llvm_plugin::winograd
