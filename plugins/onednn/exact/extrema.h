// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maxima and minima by the ops' definition: NaN is the result where one occurs, and -infinity is a
// value. oneDNN's kernels drop NaN, and start from the lowest finite number.
#include "exact/loop.h"

namespace byoc::onednn {

/// Returns whether one of the cells is NaN or infinite.
bool has_special(const float* x, int64_t cells);

/// Returns a when it is NaN or before b in the order of `is_max`, else b, so NaN in either wins.
inline float extreme(bool is_max, float a, float b) {
  return a != a || (is_max ? a > b : a < b) ? a : b;
}

using ExtremaCells = void (*)(const float* a, const float* b, float* y, int64_t n);
/// Returns the function that computes n cells of the loop below.
ExtremaCells extrema_cells(bool is_max, bool second_is_one);

/// Computes the maximum or minimum of two operands, cell by cell; may write over the first. The
/// second has as many cells, or one.
Loop extrema_loop(bool is_max, const Pieces& cells, bool second_is_one);

}  // namespace byoc::onednn
