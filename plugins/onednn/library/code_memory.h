// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for the code of a primitive.
#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace byoc::onednn {

/// Throws std::bad_alloc where a primitive's code would not fit: oneDNN 2.6 writes into a buffer
/// whose allocation it does not check. Its kernels have 256 KiB each, and some of them several
/// kernels. The probe is a mapping of its own, as a large free() would move malloc's threshold.
inline void require_code_memory() {
  constexpr size_t kBytes = size_t{8} << 20;
  void* probe = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) throw std::bad_alloc();
  ::munmap(probe, kBytes);
}

}  // namespace byoc::onednn
