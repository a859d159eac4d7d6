// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetches panels of products. All tiles of a panel read it from the caches but the first, which
// waits for memory; so each tile prefetches a part of the next panel, or a single tile all of it.
//   before: for j in 0..24 { for i in 0..18 { for k in 0..768 { .. b[j, k, lane] .. } } }
//   after:  for j in 0..24 { for i in 0..18 { for k in 0..768 { prefetch(b[j + 1, ..]); .. } } }
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin::topi {

/// Adds prefetches to the loops over k, which may be several, that read a panel of an input, which may
/// be several blocks of weights, one after another: the loop around them, over
/// tiles, reads it again, and the loop around that one moves to the next panel; or there is no loop
/// over tiles.
te::LoopFunction with_prefetches(te::LoopFunction function);

}  // namespace byoc::llvm_plugin::topi
