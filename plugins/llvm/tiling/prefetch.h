// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetches panels of products. All tiles of a panel read it from the caches but the first, which
// waits for memory; so each tile prefetches a part of the next panel, or a single tile all of it.
// Where each run gives the number of tiles, the part is that of the run's tiles.
//   before: for j in 0..24 { for i in 0..18 { for k in 0..768 { .. b[j, k, lane] .. } } }
//   after:  for j in 0..24 { for i in 0..18 { for k in 0..768 { prefetch(b[j + 1, ..]); .. } } }
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin::topi {

/// Adds prefetches to the innermost loops over k that read a panel of an input. The loop around
/// them, over tiles, reads the panel again, and the next loop out moves to the next panel; where
/// one tile is a whole panel, there is no loop over tiles. k may be several loops, as the channels
/// and taps of a convolution, and a panel several blocks of weights, one after another. Where a
/// block of terms is written out, its prefetches are spread over the terms.
te::LoopFunction with_prefetches(te::LoopFunction function);

}  // namespace byoc::llvm_plugin::topi
