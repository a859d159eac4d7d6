// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of contexts from an allocator of the program.
#include <cstddef>
#include <functional>
#include <memory>

namespace byoc {

/// Both functions are called by the threads that make and destroy contexts, several at a time, and
/// throw nothing.
struct Allocator {
  /// Returns `size` bytes at a multiple of `alignment`, a power of two; null: there are none.
  std::function<void*(size_t size, size_t alignment)> allocate;
  std::function<void(void* memory, size_t size)> release;  ///< with the size that was allocated
};

/// Sets the allocator of arenas, workspaces and copied tensors of all contexts that are made later;
/// null: that of the system. Contexts keep the allocator that they were made with. Thread-safe.
void set_allocator(std::shared_ptr<const Allocator> allocator);

}  // namespace byoc
