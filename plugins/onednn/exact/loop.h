// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugin's own loops, which run instead of a primitive or after one.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace byoc::onednn {

/// Reads a unit's operands in the order of Built::inputs, and writes its result.
using Loop = std::function<void(const void* const* in, void* out)>;

/// Returns the number of threads a loop may use: oneDNN's number, as its threads wait in OpenMP's
/// pool between two primitives. Returns one under the thread sanitizer, which does not see the
/// barriers of a libgomp that was not built for it.
inline int loop_threads() {
#if defined(__SANITIZE_THREAD__)
  return 1;
#else
  return omp_get_max_threads();
#endif
}

/// Calls visit(first, count) for pieces of `cells` cells, on several threads where there are many.
template <class Visit>
void visit_pieces(int64_t cells, const Visit& visit) {
  constexpr int64_t kPiece = 1 << 14;
  const int64_t pieces = (cells + kPiece - 1) / kPiece;
  const int threads = pieces > 1 ? loop_threads() : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t piece = 0; piece < pieces; ++piece)
    visit(piece * kPiece, std::min(kPiece, cells - piece * kPiece));
}

}  // namespace byoc::onednn
