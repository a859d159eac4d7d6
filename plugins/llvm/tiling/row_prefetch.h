// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetches rows of an image. Tiles read a few elements of many rows, one channel after the other,
// which hardware does not foresee; so each tile prefetches its columns of the rows that the window
// reaches some rows of results later.
//   before: for h in 0..112 { for w in 0..14 { .. x[0, c, 2 h + kh, 16 w + 2 i + kw] .. } }
//   after:  for h in 0..112 { for w in 0..14 { prefetch(x[0, 0, 2 h + 5, 16 w]); .. } }
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin::topi {

/// Adds prefetches to loops over tiles of a row that read an input [n, c, h, w] in a loop over
/// rows. Loops in which a tile would prefetch more than 64 lines stay as they are.
te::LoopFunction with_row_prefetches(te::LoopFunction function);

}  // namespace byoc::llvm_plugin::topi
