// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arena of a program of open sizes: how many bytes its blocks have at some sizes, and where.
#include <span>

#include "byoc/base/arena.h"
#include "runtime/artifact/open_sizes.h"

namespace byoc {

/// The blocks of a program and the orders that they are placed in; immutable.
class ArenaLayout {
 public:
  ArenaLayout() = default;
  /// Makes the layout of a program that has passed check_executable; without blocks for one of
  /// fixed sizes. `sizes` are those of the program. Cost: O(n log n) for n places of the arena.
  ArenaLayout(const Program& program, const OpenSizes& sizes);

  size_t blocks() const { return n_blocks_; }
  /// Writes the bytes of each block, multiples of 64. `values` are those of OpenSizes::evaluate.
  /// Errors: slug "size-overflow", with the type of a value that does not fit in 62 bits.
  Status measure(std::span<const int64_t> values, std::span<uint64_t> bytes) const;
  /// Writes the offset of each block, by the order that needs the least memory, and returns the
  /// bytes of all; UINT64_MAX when they do not fit in 64 bits. No larger blocks need fewer bytes.
  /// Allocates nothing. Cost: O(blocks * orders).
  uint64_t place(std::span<const uint64_t> bytes, std::span<uint64_t> offsets) const;

 private:
  // One value in a block.
  struct Value {
    uint32_t block = 0;
    uint64_t offset = 0;            // in the block
    uint64_t bytes = 0;             // the product of the item's size and of all numbers
    std::vector<uint32_t> factors;  // expressions, by number
    std::string type;               // for errors
  };
  // An order, with the blocks that each block rests on.
  struct Stack {
    std::vector<uint32_t> order;
    std::vector<uint32_t> first;  // per place in `order`, and the end: into `below`
    std::vector<uint32_t> below;
  };
  void add_value(const Place& place, const TensorSpec& type, const OpenSizes& sizes);
  static Stack stack_of(const std::vector<uint32_t>& order, const std::vector<Lifetime>& lives);
  static uint64_t place_in(const Stack& stack, std::span<const uint64_t> bytes,
                           std::span<uint64_t> offsets);

  size_t n_blocks_ = 0;
  std::vector<Value> values_;
  std::vector<Stack> stacks_;
};

}  // namespace byoc
