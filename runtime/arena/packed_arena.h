// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arena of one context of a program of open sizes.
#include "runtime/arena/arena_layout.h"
#include "runtime/arena/context_memory.h"

namespace byoc {

/// The places of all blocks for the sizes of one run. One thread at a time.
class PackedArena {
 public:
  /// `layout` outlives it.
  explicit PackedArena(const ArenaLayout& layout)
      : layout_(layout), bytes_(layout.blocks()), offsets_(layout.blocks()) {}

  /// Places the blocks for these values of expressions, in memory that grows if they need more than
  /// any before. Errors: those of ArenaLayout::measure and of GrowingMemory::reserve.
  Status fit(std::span<const int64_t> values);
  /// Returns the address of a place of the arena: valid until the next fit.
  std::byte* address(const Place& place) const;
  uint64_t bytes() const { return memory_.bytes(); }  ///< in all

 private:
  const ArenaLayout& layout_;
  std::vector<uint64_t> bytes_, offsets_;  // per block
  GrowingMemory memory_;
};

}  // namespace byoc
