// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace byoc {

/// Allocates at least `size` bytes on a multiple of `alignment`, a power of two; std::free frees
/// them. Returns null when allocation fails. Large pieces get huge pages where the kernel gives
/// them on request (madvise(2), MADV_HUGEPAGE): images and weights then need a page table entry for
/// each 2 MiB, not for each 4 KiB. Thread-safe.
void* aligned_memory(size_t size, size_t alignment) noexcept;

}  // namespace byoc
