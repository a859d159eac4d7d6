// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena/context_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "byoc/base/env.h"
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

Status GrowingMemory::reserve(uint64_t size, uint64_t align, const char* what) {
  constexpr int kNan = 0xFF;  // of f16, bf16, f32 and f64; -1 as an integer
  if (size <= bytes_) return {};
  constexpr uint64_t kMostBytes = uint64_t{1} << 62;
  const bool is_growing = most_ != 0 && size > most_ && size < kMostBytes;
  const uint64_t wanted = size + (is_growing ? size / 8 / align * align : 0);
  bytes_ = 0;
  memory_ = Memory();
  Result<Memory> found = context_memory(wanted, align, what);
  bytes_ = wanted;
  if (!found.ok() && wanted != size) {
    found = context_memory(size, align, what);
    bytes_ = size;
  }
  if (!found.ok()) bytes_ = 0;
  BYOC_TRY(memory_, std::move(found));
  most_ = std::max(most_, wanted);
  if (env_value("BYOC_CANARY") == "1") std::memset(memory_.get(), kNan, bytes_);
  return {};
}

}  // namespace byoc
