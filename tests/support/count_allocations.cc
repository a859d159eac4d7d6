#include "count_allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<uint64_t> count{0};
}  // namespace

namespace byoc::test {
uint64_t allocations() { return count.load(); }
}  // namespace byoc::test

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A sanitizer has its own malloc, and hooks.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
namespace {
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { ++count; }, [](const volatile void*) {});
}  // namespace
#else
// These stand before glibc's, for every library in the process.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return ++count, __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return ++count, __libc_calloc(n, size); }
void* realloc(void* memory, size_t size) { return ++count, __libc_realloc(memory, size); }
void* memalign(size_t align, size_t size) { return ++count, __libc_memalign(align, size); }
void* aligned_alloc(size_t align, size_t size) { return ++count, __libc_memalign(align, size); }
int posix_memalign(void** out, size_t align, size_t size) {
  ++count;
  *out = __libc_memalign(align, size);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif
