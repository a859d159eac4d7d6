// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places intermediate tensors in one block of memory. The input is their lifetimes alone.
#include <cstdint>
#include <vector>

namespace byoc {

/// The lifetime of one tensor, from step `first` to step `last`, both included. Sizes in bytes are
/// multiples of the alignment.
struct Lifetime {
  uint64_t bytes = 0;            ///< the size of the buffer
  uint32_t first = 0, last = 0;  ///< the first and the last step that uses it
};

/// The places of all lifetimes in one arena.
struct ArenaPlan {
  std::vector<uint64_t> offsets;  ///< per lifetime
  uint64_t bytes = 0;             ///< the size of the whole arena
  uint64_t peak_live_bytes = 0;   ///< no plan can be smaller
};

/// Gives each lifetime an offset. No two lifetimes that share a step overlap in memory.
/// Deterministic. Up to a few thousand lifetimes several orders are tried and the smallest plan
/// wins; for more there is one best-fit sweep in order of time, O(n log n).
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace byoc
