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

}  // namespace byoc
