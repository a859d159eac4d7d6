// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants whose bytes a file has in another order: weights that only kernels read are stored as
// these read them, and put back in order where a plugin of another machine packs them otherwise.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "byoc/base/buffer.h"

namespace byoc {

/// An order of elements of 4 bytes.
struct ElementOrder {
  /// Loops as (count, stride): element i of the reordered bytes, whose digits are
  /// i = (i_0 * count_1 + i_1) * count_2 + ..., is element i_0 * stride_0 + i_1 * stride_1 + ...
  /// of the constant.
  std::vector<std::pair<uint64_t, uint64_t>> loops;
  /// Empty, or of a dim that blocks fill up: its extent in the constant, its extent in what the
  /// loops visit, and the elements of one of its entries. Cells beyond the first extent are zeros.
  std::vector<uint64_t> padding;
  friend bool operator==(const ElementOrder&, const ElementOrder&) = default;
};

/// Returns the order in which `reordered` has the elements of a row-major tensor of these dims;
/// nullopt: it has others, or blocks of more than one dim that are not whole. Deterministic. Cost:
/// O(bytes) when it has them or is larger, else usually O(1).
std::optional<ElementOrder> find_order(std::span<const std::byte> constant,
                                       std::span<const int64_t> dims,
                                       std::span<const std::byte> reordered);
/// Returns whether the loops visit as many elements as `reordered` bytes have, none beyond them,
/// and the constant has `bytes`.
bool is_order_of(const ElementOrder& order, uint64_t bytes, uint64_t reordered);
/// Writes the reordered bytes of a constant; cells that fill up a dim are zeros. `order` is one of
/// these sizes (is_order_of).
void apply_order(const ElementOrder& order, std::span<const std::byte> constant,
                 std::span<std::byte> reordered);
/// Writes the constant. `order` is one of these sizes (is_order_of).
void restore_order(const ElementOrder& order, std::span<const std::byte> reordered,
                   std::span<std::byte> constant);

}  // namespace byoc
