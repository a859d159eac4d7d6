// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of Symbol, Dim, TypeId, TypeIds and Attrs: values with numbers, and with owners.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "byoc/base/check.h"
#include "byoc/ir/intern.h"
#include "core/ir/flat_index.h"

namespace byoc {

/// Released in this order: a value comes before the values that it contains.
enum class InternTable : uint8_t { kAttrs, kTypeLists, kTypes, kNamedSizes, kSymbols };
inline constexpr size_t kInternTables = 5;

/// The values that one arena owns: numbers per table.
struct InternArena::Owned {
  struct Numbers {
    FlatIndex index;
    std::vector<uint32_t> all;
  };
  std::array<Numbers, kInternTables> tables;

  /// Returns false when it was there already.
  bool add(InternTable table, uint32_t number) {
    Numbers& numbers = tables[static_cast<size_t>(table)];
    auto is_number = [&](uint32_t other) { return other == number; };
    if (numbers.index.find(number, is_number) != FlatIndex::kNone) return false;
    if (numbers.all.size() == numbers.all.capacity())
      numbers.all.reserve(std::max<size_t>(2 * numbers.all.size(), 16));
    numbers.index.insert(number, number);  // the last that can fail
    numbers.all.push_back(number);
    return true;
  }
  /// Removes a number that was added.
  void remove(InternTable table, uint32_t number) {
    Numbers& numbers = tables[static_cast<size_t>(table)];
    numbers.index.erase(number, number);
    std::erase(numbers.all, number);
  }
};

/// The arena of this thread's innermost scope, or null.
InternArena::Owned* current_arena();

/// Makes the current arena (without one: the process) an owner of a value, and of all it contains.
/// The value must have an owner already.
void own(Symbol symbol);
void own(TypeId type);

/// Frees the values of which the arena was the last owner; one function per table.
void release_attrs(std::span<const uint32_t> numbers);
void release_type_lists(std::span<const uint32_t> numbers);
void release_types(std::span<const uint32_t> numbers);
void release_named_sizes(std::span<const uint32_t> numbers);
void release_symbols(std::span<const uint32_t> numbers);
size_t count_attrs();

/// Returns the hash of a sequence from the hash of all values but the last, and the last one's.
inline size_t mixed_hash(size_t hash, size_t value) {
  return (hash ^ value) * size_t{0x9e3779b97f4a7c15} + (hash >> 29);
}

/// A table that lives as long as the process. Values have numbers, which are used again after
/// a value was freed. A value's owners are the arenas under whose scope it was interned; a
/// value interned without a scope is pinned for the life of the process. Thread-safe. Reading
/// a value by its number takes no lock: chunks never move, and a number is handed out after
/// its value is written. When an allocation fails, the table and the arena are as before.
template <class T, class Key, class Hash>
class Interner {
 public:
  explicit Interner(InternTable table) : table_(table) {}

  /// Returns the number of `key`. Calls make() for a new value, and own_parts() when the current
  /// arena becomes an owner: it then owns what the value contains.
  template <class Make, class OwnParts>
  uint32_t intern(const Key& key, Make&& make, OwnParts&& own_parts) {
    const uint64_t hash = Hash()(key);
    auto is_key = [&](uint32_t number) { return (*this)[number] == key; };
    bool is_new_owner = false;
    uint32_t number = FlatIndex::kNone;
    {
      std::shared_lock lock(mutex_);
      number = index_.find(hash, is_key);
      if (number != FlatIndex::kNone) is_new_owner = add_owner(number);
    }
    if (number == FlatIndex::kNone) {
      std::unique_lock lock(mutex_);
      number = index_.find(hash, is_key);
      if (number == FlatIndex::kNone) number = add(hash, make());
      is_new_owner = add_owner_or_free(number);
    }
    if (is_new_owner) own_parts_or_disown(number, own_parts);
    return number;
  }

  /// Makes the current arena an owner of a value that has one. Returns false when it was before.
  bool add_owner(uint32_t number) {
    std::atomic<uint32_t>& owners = entry(number).owners;
    if (owners.load(std::memory_order_relaxed) & kPinned) return false;
    InternArena::Owned* arena = current_arena();
    if (arena == nullptr) return (owners.fetch_or(kPinned) & kPinned) == 0;
    if (!arena->add(table_, number)) return false;
    ++owners;
    return true;
  }

  /// The same, and then makes it an owner of what the value contains.
  template <class OwnParts>
  void add_owner(uint32_t number, OwnParts&& own_parts) {
    if (add_owner(number)) own_parts_or_disown(number, own_parts);
  }

  /// Removes one owner from each value. Allocates nothing, because arenas are also released after
  /// an allocation has failed.
  void release(std::span<const uint32_t> numbers) {
    std::array<T, 64> freed;  // destroyed after the lock
    for (size_t begin = 0; begin < numbers.size(); begin += freed.size()) {
      const auto some = numbers.subspan(begin, std::min(freed.size(), numbers.size() - begin));
      std::unique_lock lock(mutex_);
      for (size_t k = 0; k < some.size(); ++k) release_one(some[k], freed[k]);
      lock.unlock();
      freed.fill(T());
    }
  }

  const T& operator[](uint32_t number) const { return entry(number).value; }
  size_t size() const {
    std::shared_lock lock(mutex_);
    return size_ - free_.size();
  }

 private:
  static constexpr uint32_t kChunkSize = 4096, kChunks = 1 << 16, kPinned = uint32_t{1} << 31;
  struct Entry {
    T value{};
    uint32_t hash = 0;                // folded
    std::atomic<uint32_t> owners{0};  // arenas, and kPinned
  };

  Entry& entry(uint32_t number) const { return chunks_[number / kChunkSize][number % kChunkSize]; }
  /// Frees a new value when the arena cannot become its owner.
  bool add_owner_or_free(uint32_t number) {
    try {
      return add_owner(number);
    } catch (...) {
      if (T freed; entry(number).owners == 0) free_one(number, freed);
      throw;
    }
  }
  /// The current arena must not own a value of which it does not own all parts.
  template <class OwnParts>
  void own_parts_or_disown(uint32_t number, OwnParts&& own_parts) {
    try {
      own_parts();
    } catch (...) {
      InternArena::Owned* arena = current_arena();
      if (arena != nullptr) arena->remove(table_, number);
      T freed;  // destroyed after the lock
      std::unique_lock lock(mutex_);
      std::atomic<uint32_t>& owners = entry(number).owners;
      if ((arena != nullptr ? --owners : owners &= ~kPinned) == 0) free_one(number, freed);
      throw;
    }
  }
  void release_one(uint32_t number, T& freed) {
    if (--entry(number).owners == 0) free_one(number, freed);
  }
  void free_one(uint32_t number, T& freed) {
    Entry& freeable = entry(number);
    index_.erase(freeable.hash, number);
    freed = std::exchange(freeable.value, T());
    free_.push_back(number);  // take_number has made room
  }
  static Entry** new_table() {
    void* memory = std::calloc(kChunks, sizeof(Entry*));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<Entry**>(memory);
  }
  uint32_t take_number() {
    if (!free_.empty()) {
      uint32_t number = free_.back();
      free_.pop_back();
      return number;
    }
    BYOC_CHECK(size_ < kChunks * kChunkSize, "too many interned values");
    Entry*& chunk = chunks_[size_ / kChunkSize];
    if (chunk == nullptr) {
      if (free_.capacity() < size_ + kChunkSize)
        free_.reserve(std::max<size_t>(2 * free_.capacity(), size_ + kChunkSize));
      chunk = new Entry[kChunkSize];
    }
    return size_++;
  }
  uint32_t add(uint64_t hash, T value) {
    index_.make_room();
    const uint32_t number = take_number();  // the last that can fail
    Entry& added = entry(number);
    added.value = std::move(value);
    added.hash = FlatIndex::fold(hash);
    index_.insert(hash, number);
    return number;
  }

  const InternTable table_;
  mutable std::shared_mutex mutex_;
  FlatIndex index_;
  // Tables are never destroyed. calloc, because it touches no page before a chunk is written there.
  Entry** const chunks_ = new_table();
  uint32_t size_ = 0;
  std::vector<uint32_t> free_;
};

/// While it lives, this thread has no scope: a value that it interns is pinned.
class WithoutScope {
 public:
  WithoutScope();
  WithoutScope(const WithoutScope&) = delete;
  WithoutScope& operator=(const WithoutScope&) = delete;
  ~WithoutScope();

 private:
  InternArena::Owned* outer_;
};

}  // namespace byoc
