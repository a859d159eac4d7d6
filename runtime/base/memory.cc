// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace byoc {
namespace {

constexpr uintptr_t kHugePage = uintptr_t{2} << 20;

// Advises huge pages for the pages that lie wholly inside. The kernel may ignore the advice.
// The advice outlives the memory where free() keeps that, so use it for memory that lives as
// long as a session.
void ask_for_huge_pages(void* memory, size_t size) {
  const uintptr_t from = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (from + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (from + size) / kHugePage * kHugePage;
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace

void* aligned_memory(size_t size, size_t alignment) noexcept {
  if (size > SIZE_MAX - alignment) return nullptr;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded != 0 ? rounded : alignment);
  if (memory != nullptr && rounded >= kHugePage) ask_for_huge_pages(memory, rounded);
  return memory;
}

void release_pages(std::span<const std::byte> bytes) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  if (!bytes.empty()) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace byoc
