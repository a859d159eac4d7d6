// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <cstddef>

namespace {

uint64_t blocks = 0;  // plugins run on this thread too, but their code is not counted

}  // namespace

extern "C" {

// The compiler calls it in every basic block.
void __sanitizer_cov_trace_pc() { ++blocks; }

// The linker's option --wrap: memmove itself, and what calls it in its place.
void* __real_memmove(void* to, const void* from, size_t n);
void* __wrap_memmove(void* to, const void* from, size_t n) {
  blocks += n / 64;
  return __real_memmove(to, from, n);
}
}

namespace byoc::test {

uint64_t work_done() { return blocks; }

}  // namespace byoc::test
