// SPDX-License-Identifier: Apache-2.0
#pragma once
// Winograd's convolutions as tensor expressions of conv2d_nchwc: tiles of m_h x m_w results, of
// which each has (m_h + r_h - 1) (m_w + r_w - 1) products per pair of channels in place of
// m_h m_w r_h r_w. With a stride of 2 these are (2 m_h + r_h - 2) (2 m_w + r_w - 2).
#include <optional>

#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::winograd {

/// The extents of a convolution whose results are in blocks of channels.
struct Conv {
  int64_t n, c_blocks, c_block, h, w;  // of x
  int64_t o_blocks, o_block, oh, ow;   // of y
  int64_t rows, columns;               // of the window
  int64_t pad_top, pad_left;
  int64_t stride = 1;
  bool is_plain = false;  // the image is not in blocks: c_block is 1
  bool is_open = false;   // each run gives the rows or columns: others are numbers to plan for
};
/// Returns the extents of a call that Winograd's computes are for: f32, dilation 1, one group, a
/// window of 3 x 3 or 5 x 5 with a stride of 1 or 2, or of 1 x 3, 3 x 1, 1 x 7 or 7 x 1 with 1,
/// results that are not empty. Of plain images a window of 5 x 5 or 7 x 7 with a stride of 2.
std::optional<Conv> conv_of(const te::Site& site);

/// A tile of results.
struct Tile {
  int64_t rows = 1, columns = 1;
};
/// Returns the tiles that a window has computes for.
std::vector<Tile> tiles_of(const Conv& conv);
std::string name_of(const Tile& tile);  ///< "winograd_4x4"

/// Returns the compute, for any number of images, with these stages, or for plain images those of
/// stem.h; r, s count the products of a tile's rows and columns, p = ty * (tiles in a row) + tx its
/// tile:
///   filters[r, s, o, c, k, b]        of the weights alone, transformed in f64
///   columns[n, c, ty, tx, r, w, k]   the image's tiles, of which columns are transformed
///   inputs[r, s, n, c, ty, tx, k]    then rows
///   products[r, s, n, o, p, b]       sum over c, k; of open images [r, s, n, o, ty, tx, b]
///   rows[n, o, ty, tx, i, s, b]      the results' columns
///   tiles[n, o, ty, i, tx, j, b]     then rows; in memory an image of whole tiles
///   conv2d_nchwc[n, o, h, w, b]      without the rest of the last tiles
ComputeFn compute_of(const Conv& conv, const Tile& tile);

/// The roles of the stages above.
inline constexpr std::string_view kFilters = "conv2d_nchwc.filters",
                                  kPadded = "conv2d_nchwc.padded", kPhases = "conv2d_nchwc.phases",
                                  kColumns = "conv2d_nchwc.columns",
                                  kInputs = "conv2d_nchwc.inputs",
                                  kProducts = "conv2d_nchwc.products", kRows = "conv2d_nchwc.rows",
                                  kTiles = "conv2d_nchwc.tiles";

}  // namespace byoc::llvm_plugin::winograd
