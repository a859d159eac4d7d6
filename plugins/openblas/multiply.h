// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "product.h"

namespace byoc::openblas {

/// A part of one result matrix: rows [row, row + rows), columns [column, column + columns).
struct Tile {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// Computes one tile of the matrix `index` of a product, from the operands' first elements, on the
/// calling thread alone. `bias` is null for a product without one.
void multiply(const Product& product, int64_t index, const Tile& tile, const void* a, const void* b,
              const void* bias, void* y);

}  // namespace byoc::openblas
