// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of extremes, and 1 at these positions (hardmax), by reductions of one value each, which
// the default schedule vectorises along any axis.
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::arg {

/// One argmax, argmin or hardmax: lines of `extent` elements, `inner` elements apart.
struct Lines {
  size_t axis = 0;
  int64_t outer = 1, extent = 1, inner = 1;
  DType dtype = DType::kF32;  // of the elements
  bool is_greatest = true, is_last = false, keepdims = true;
  bool is_hard = false;  // hardmax, which ignores NaN after the first element
  int64_t lanes = 1;     // of a vector of elements
};
/// Returns nullopt for other ops, and for elements that no vector compares.
std::optional<Lines> lines_of(const te::Site& site);

/// Returns the elements of a block of a line that is searched block by block; 0: in one go.
int64_t block_of(const Lines& lines);
/// Returns an estimate of the cycles, for blocks of that many elements; of one pass in scalars.
double cycles_of(const Lines& lines, int64_t block);
double direct_cycles_of(const Lines& lines);

/// Computes y[i] = least (or greatest) position r where x[i, r] is the extreme of line i:
///   top[i] = extreme of x[i, r] over r
///   y[i] = least r where x[i, r] = top[i]
/// For hardmax, y[i, r] = 1 where r is that position, else 0.
ComputeFn passes(const Lines& lines);
/// Computes the same, but reads each line once. For blocks of b elements, of which the last one
/// ends with the line:
///   block_top[i, k] = extreme of x[i, start(k) + r] over r < b
///   block[i] = least k where block_top[i, k] = top[i]
///   y[i] = start(block[i]) + least r < b where x[i, start(block[i]) + r] = top[i]
ComputeFn blocks(const Lines& lines, int64_t block);

}  // namespace byoc::llvm_plugin::arg
