// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of depthwise convolutions, in chains and for themselves.
#include <cstdint>

namespace byoc::llvm_plugin::depthwise {

/// The columns of a window, which are written out.
inline constexpr int64_t kMostColumns = 7;

// Eight sums of a row hide the latency of a multiply-add, and leave registers for the weights of a
// row of the window; each element of the image is loaded once and meets every cell that it reaches.
// Where there are twice as many registers, more cells share the weights.
inline constexpr int64_t kCells = 8, kCellsOfManyRegisters = 14;

/// Returns the most cells of a tile.
inline int64_t most_cells(int registers) { return registers < 32 ? kCells : kCellsOfManyRegisters; }

}  // namespace byoc::llvm_plugin::depthwise
