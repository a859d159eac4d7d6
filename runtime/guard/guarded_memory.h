// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory between guard pages, which cannot be accessed: an access outside of a tensor is a fault of
// the process, and never luck. The report of the fault names the memory.
#include <cstddef>
#include <string_view>
#include <utility>

#include "byoc/base/status.h"

namespace byoc {

/// The position of the bytes between the guard pages.
enum class Placement {
  kAtStart,  // aligned to a page; the free bytes after them are filled and checked
  kAtEnd     // as close to the second guard page as `align` allows
};

/// Pages for one tensor, or for one after another. Calls on one object do not run at the same time.
class GuardedMemory {
 public:
  /// Reserves pages for `capacity` bytes; none can be accessed. Errors: kResourceExhausted, slug
  /// "no-memory".
  static Result<GuardedMemory> reserve(size_t capacity);
  /// Reserves pages and places `size` bytes in them. An allocation that fails ends the process.
  GuardedMemory(std::string_view name, size_t size, size_t align, Placement placement);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();

  /// Opens the pages that hold `size` bytes and closes all others. The bytes of these pages outside
  /// of the `size` bytes, the margins, are filled with NaN. `align`: a power of two up to a page.
  /// Messages use `name`, as in "input 0". Errors: kResourceExhausted, slug "no-memory".
  Status place(std::string_view name, size_t size, size_t align, Placement placement);
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return pages_.bytes; }
  void make_read_only();
  /// Returns nullptr, or where a byte of the margins has changed: "before" or "past the end of".
  const char* changed_margin() const;

 private:
  GuardedMemory() = default;
  void set_range(std::string_view name);
  struct Pages {
    std::byte* at = nullptr;
    size_t bytes = 0;  // without the guard pages before and after them
  };
  Pages pages_;
  std::byte *open_ = nullptr, *open_end_ = nullptr;  // the pages that can be accessed
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t place_ = SIZE_MAX;  // in the table of named ranges
};

/// Writes "it accessed memory past the end of input 0" to `to`, of `size` bytes, for an address in
/// guarded memory. Returns false for other addresses. A signal handler may call it.
bool describe_access(const void* address, char* to, size_t size) noexcept;

/// Returns whether this thread, or BYOC_GUARD=1, guards what plugins get: GuardScope.
bool guards_memory();
/// Sets whether this thread does, and returns the setting before.
bool set_guards_memory(bool guards);

}  // namespace byoc
