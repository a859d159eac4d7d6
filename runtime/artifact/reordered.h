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

/// Loops over elements of 4 bytes, as (count, stride): element i of the reordered bytes, whose
/// digits are i = (i_0 * count_1 + i_1) * count_2 + ..., is element i_0 * stride_0 + i_1 *
/// stride_1 + ... of the constant.
using ElementOrder = std::vector<std::pair<uint64_t, uint64_t>>;

/// Returns the order in which `reordered` has the elements of a row-major tensor of these dims;
/// nullopt: it has others, or blocks of dims that are not whole. Deterministic. Cost: O(bytes) when
/// it has them, else usually O(1).
std::optional<ElementOrder> find_order(std::span<const std::byte> constant,
                                       std::span<const int64_t> dims,
                                       std::span<const std::byte> reordered);
/// Returns whether the loops visit as many elements as `bytes` has, and none beyond them.
bool is_order_of(const ElementOrder& order, uint64_t bytes);
/// Writes the constant. `order` is one of its size (is_order_of).
void restore_order(const ElementOrder& order, std::span<const std::byte> reordered,
                   std::span<std::byte> constant);

}  // namespace byoc
