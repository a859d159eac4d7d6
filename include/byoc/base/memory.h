// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

namespace byoc {

/// Allocates at least `size` bytes on a multiple of `alignment`, a power of two; std::free frees
/// them. Returns null when allocation fails. Large pieces get huge pages where the kernel gives
/// them on request (madvise(2), MADV_HUGEPAGE): images and weights then need a page table entry for
/// each 2 MiB, not for each 4 KiB. Thread-safe.
void* aligned_memory(size_t size, size_t alignment) noexcept;

/// Gives the pages of a mapped file back to the system, those that hold a part of `bytes` alone; the
/// next read brings them back. `bytes` is a part of a mapping without writers. Thread-safe.
void release_pages(std::span<const std::byte> bytes) noexcept;

}  // namespace byoc
