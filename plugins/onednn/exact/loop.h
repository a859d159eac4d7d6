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

/// Cells of memory, and the number of them in each piece, which one thread computes.
struct Pieces {
  int64_t cells = 0;
  int64_t each = int64_t{1} << 14;
  int64_t count() const { return (cells + each - 1) / each; }
};

/// Calls visit(first, count) for each piece, on several threads where there are several.
template <class Visit>
void visit_pieces(const Pieces& all, const Visit& visit) {
  const int64_t pieces = all.count();
  const int threads = pieces > 1 ? loop_threads() : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t piece = 0; piece < pieces; ++piece)
    visit(piece * all.each, std::min(all.each, all.cells - piece * all.each));
}

}  // namespace byoc::onednn
