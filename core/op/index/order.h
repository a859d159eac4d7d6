// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorts numbers by unsigned keys, without comparisons of the numbers themselves.
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "core/op/kernel/kernel.h"

namespace byoc::op {

template <class T>
using KeyOf =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

/// Returns a key that is ordered as the numbers are. Both zeros have one key. So have all NaNs,
/// which are the greatest.
template <class T>
KeyOf<T> order_key(T x) {
  using Key = KeyOf<T>;
  constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (is_half<T> || std::is_floating_point_v<T>) {
    if (x != x) return std::numeric_limits<Key>::max();
    if (x == T(0)) return kSign;
    const Key bits = std::bit_cast<Key>(x);
    return static_cast<Key>((bits & kSign) != 0 ? ~bits : bits | kSign);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(static_cast<Key>(x) ^ kSign);
  } else {
    return static_cast<Key>(x);
  }
}

template <class Key>
struct Keyed {
  Key key;
  int64_t place;
};

/// Sorts by key, equal ones in their order: by bytes, from the last one. O(n * bytes that differ).
template <class Key>
void sort_by_key(std::vector<Keyed<Key>>& items) {
  using Counts = std::array<size_t, 256>;
  std::array<Counts, sizeof(Key)> counts{};
  auto byte_of = [](Key key, size_t k) { return static_cast<size_t>(key >> (8 * k)) & 255; };
  for (const Keyed<Key>& item : items) {
    for (size_t k = 0; k < sizeof(Key); ++k) ++counts[k][byte_of(item.key, k)];
  }
  std::vector<Keyed<Key>> moved(items.size());
  for (size_t k = 0; k < sizeof(Key) && !items.empty(); ++k) {
    if (counts[k][byte_of(items[0].key, k)] == items.size()) continue;  // equal in all
    size_t begin = 0;
    for (size_t& count : counts[k]) {
      const size_t end = begin + count;
      count = begin;
      begin = end;
    }
    for (const Keyed<Key>& item : items) moved[counts[k][byte_of(item.key, k)]++] = item;
    items.swap(moved);
  }
}

}  // namespace byoc::op
