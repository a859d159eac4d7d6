// SPDX-License-Identifier: Apache-2.0
#pragma once
// The hash index of the interning tables: numbers by hash in one flat array, so that a lookup costs
// one cache miss, where a chained table costs three. The caller holds the values.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace byoc {

/// Open addressing, linear probing, at most half full. `hash` must differ in its low bits, or in
/// its high 32. Not thread-safe.
class FlatIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// Returns the number stored under `hash` for which `is_equal(number)` is true, or kNone.
  template <class IsEqual>
  uint32_t find(uint64_t hash, IsEqual&& is_equal) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = home(fold(hash));; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.number == kNone) return kNone;
      if (slot.hash == fold(hash) && is_equal(slot.number)) return slot.number;
    }
  }

  /// Stores `number` (not kNone) under `hash`; it must not be there yet. Changes nothing when an
  /// allocation fails.
  void insert(uint64_t hash, uint32_t number) {
    make_room();
    place({fold(hash), number});
    ++size_;
  }
  /// Lets the next insert() allocate nothing.
  void make_room() {
    if (2 * (size_ + 1) > slots_.size()) grow();
  }

  /// Removes `number`, which was inserted under `hash` or fold(hash).
  void erase(uint64_t hash, uint32_t number) {
    std::size_t at = home(fold(hash));
    while (slots_[at].number != number) at = (at + 1) & mask();
    // Later slots of the run move up, unless that would put them before their home.
    for (std::size_t next = (at + 1) & mask(); slots_[next].number != kNone;
         next = (next + 1) & mask()) {
      std::size_t from_home = (next - home(slots_[next].hash)) & mask();
      if (from_home < ((next - at) & mask())) continue;
      slots_[at] = slots_[next];
      at = next;
    }
    slots_[at] = Slot{};
    --size_;
  }

  /// The part of a hash that is kept. fold(fold(hash)) is fold(hash).
  static uint32_t fold(uint64_t hash) { return static_cast<uint32_t>(hash ^ hash >> 32); }

 private:
  struct Slot {
    uint32_t hash = 0, number = kNone;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  // Maps eight neighbouring hashes to a cache line, so that callers that count upwards stay in
  // cache. The lines are spread; without that, callers that count in overlapping ranges would probe
  // each other's runs to the end. 32 bits of the hash are kept, so that growing needs no value.
  std::size_t home(uint32_t hash) const {
    std::size_t line = static_cast<std::size_t>((hash >> 3) * uint64_t{0x9e3779b97f4a7c15} >> 32);
    return (line << 3 | (hash & 7)) & mask();
  }
  void place(Slot slot) {
    std::size_t at = home(slot.hash);
    while (slots_[at].number != kNone) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kNone) place(slot);
    }
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace byoc
