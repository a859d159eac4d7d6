// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory between guard pages, which cannot be accessed. The memory can be made read-only. After
// name_faults, an illegal access ends the child process and records the name of the memory.
#include <cstddef>
#include <memory>
#include <string>

namespace byoc::conform {

/// The position of the bytes between the guard pages.
enum class Placement {
  kAtStart,  // aligned to a page; the free bytes after them are filled and checked
  kAtEnd     // as close to the second guard page as `align` allows
};

class GuardedMemory {
 public:
  /// Allocates at least 1 byte. Messages use `name`, as in "input 0".
  GuardedMemory(std::string name, size_t size, size_t align, Placement placement);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  void make_read_only();
  /// Returns false when a byte between the guard pages and these bytes has changed.
  bool margins_are_whole() const;

 private:
  struct Pages {
    std::byte* at = nullptr;
    size_t bytes = 0;  // guard pages included
  };
  Pages pages_;
  std::byte* data_ = nullptr;
  size_t size_ = 0, place_ = 0;  // place_: in the table of guarded ranges
};

/// Installs the handler of illegal accesses in this process, which must be a child.
void name_faults();

}  // namespace byoc::conform
