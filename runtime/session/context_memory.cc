// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/context_memory.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "byoc/base/memory.h"

namespace byoc {
namespace {

struct Chosen {
  std::mutex mutex;
  std::shared_ptr<const Allocator> allocator;
};
Chosen& chosen() {
  static Chosen& only = *new Chosen;  // never destroyed: contexts may live longer
  return only;
}

std::shared_ptr<const Allocator> allocator_now() {
  std::lock_guard lock(chosen().mutex);
  return chosen().allocator;
}

}  // namespace

void set_allocator(std::shared_ptr<const Allocator> allocator) {
  std::lock_guard lock(chosen().mutex);
  std::swap(chosen().allocator, allocator);
}

void FreeMemory::operator()(void* memory) const {
  if (allocator != nullptr) allocator->release(memory, size);
  else std::free(memory);
}

// Small pages lie in physical memory by chance, which makes equal layers take other times in other
// processes. Memory that fills half a huge page or more is therefore made of whole ones.
Result<Memory> context_memory(uint64_t size, uint64_t align, const char* what) {
  if (size == 0) return Memory();
  if (size >= kHugePage / 2) align = std::max<uint64_t>(align, kHugePage);
  auto allocator = allocator_now();
  void* found =
      allocator != nullptr ? allocator->allocate(size, align) : aligned_memory(size, align);
  Memory memory(static_cast<std::byte*>(found), FreeMemory{std::move(allocator), size});
  if (memory == nullptr)
    return Status(Code::kResourceExhausted, cat("no memory for ", what, " of ", size, " bytes"))
        .with_slug("no-memory");
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  if (address % align == 0) return memory;
  return invalid(cat("the program's allocator returned memory for ", what, " at ", address % align,
                     " bytes after a multiple of ", align))
      .with_slug("allocator")
      .with_help("it has to align memory as its argument requires");
}

}  // namespace byoc
