// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of contexts, of the program's allocator where there is one.
#include "byoc/base/status.h"
#include "byoc/runtime/allocator.h"

namespace byoc {

/// Gives memory back to the allocator that it is from.
struct FreeMemory {
  std::shared_ptr<const Allocator> allocator = nullptr;  // null: that of the system
  size_t size = 0;
  void operator()(void* memory) const;
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

/// Allocates memory for `what`, which errors name. Empty for a size of 0. Errors: slug "no-memory";
/// "allocator" when the program's allocator returns an address that is not aligned.
Result<Memory> context_memory(uint64_t size, uint64_t align, const char* what);

/// Memory of a context that grows with the sizes of its runs, and keeps no contents then.
class GrowingMemory {
 public:
  /// Makes it `size` bytes or more. The first time it has `size` bytes; later it grows by an eighth
  /// more than needed, so that sizes which grow step by step allocate rarely. The old memory is
  /// released before. With BYOC_CANARY=1 new memory is NaN in every float type. Errors: those of
  /// context_memory; it is then empty, and the next call allocates anew.
  Status reserve(uint64_t size, uint64_t align, const char* what);
  std::byte* get() const { return memory_.get(); }
  uint64_t bytes() const { return bytes_; }

 private:
  Memory memory_;
  uint64_t bytes_ = 0, most_ = 0;  // now, and the largest ever
};

}  // namespace byoc
