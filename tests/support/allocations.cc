// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace {

constexpr size_t kMostOrigins = 64;
constexpr int kMostFrames = 16;

struct Origin {
  std::atomic<const void*> base{nullptr};  // where the library is mapped
  std::atomic<uint64_t> count{0};
  char name[256];
};
Origin origins[kMostOrigins];  // fixed: recording allocates nothing
std::atomic<uint64_t> total{0};
std::atomic<bool> records_origins{false};
thread_local bool inside = false;

bool is_runtime(std::string_view name) {
  for (std::string_view part :
       {"libc.so", "libstdc++", "libgcc_s", "libasan", "libtsan", "ld-linux"}) {
    if (name.find(part) != name.npos) return true;
  }
  return false;
}

void add(const Dl_info& info) {
  for (Origin& origin : origins) {
    const void* empty = nullptr;
    if (origin.base.compare_exchange_strong(empty, info.dli_fbase)) {
      const char* slash = std::strrchr(info.dli_fname, '/');
      std::strncpy(origin.name, slash ? slash + 1 : info.dli_fname, sizeof origin.name - 1);
    }
    if (origin.base.load() != info.dli_fbase) continue;
    ++origin.count;
    return;
  }
}

/// Counts an allocation. `caller` is the return address of the allocator's entry; null under a
/// sanitizer, whose hook is called after frames of this file and then of its allocator.
void record(const void* caller) {
  ++total;
  if (!records_origins.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  void* frames[kMostFrames];
  int n = backtrace(frames, kMostFrames), first = 0;
  Dl_info info{};
  auto is_of_runtime = [&](void* frame) {
    return dladdr(frame, &info) && is_runtime(info.dli_fname);
  };
  if (caller != nullptr) {
    while (first < n && frames[first] != caller) ++first;
  } else {
    while (first < n && is_of_runtime(frames[first])) ++first;
    while (first < n && !is_of_runtime(frames[first])) ++first;
  }
  for (int k = first; k < n; ++k) {
    if (dladdr(frames[k], &info) == 0 || is_runtime(info.dli_fname)) continue;
    add(info);
    break;
  }
  inside = false;
}

}  // namespace

namespace byoc::test {

uint64_t allocations() { return total.load(); }

AllocationOrigins::AllocationOrigins() {
  void* frame;
  backtrace(&frame, 1);  // loads what it needs, once
  for (Origin& origin : origins) origin.count = 0;
  records_origins = true;
}
AllocationOrigins::~AllocationOrigins() { records_origins = false; }

std::map<std::string, uint64_t> AllocationOrigins::stop() {
  records_origins = false;
  std::map<std::string, uint64_t> out;
  for (const Origin& origin : origins) {
    if (origin.count != 0) out[origin.name] += origin.count;
  }
  return out;
}

}  // namespace byoc::test

#ifdef BYOC_IS_SANITIZED
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
namespace {
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { record(nullptr); }, [](const volatile void*) {});
}  // namespace
#else
// These take precedence over glibc's for every library in the process.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  record(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  record(__builtin_return_address(0));
  return __libc_calloc(n, size);
}
void* realloc(void* memory, size_t size) {
  record(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}
void* memalign(size_t align, size_t size) {
  record(__builtin_return_address(0));
  return __libc_memalign(align, size);
}
void* aligned_alloc(size_t align, size_t size) {
  record(__builtin_return_address(0));
  return __libc_memalign(align, size);
}
int posix_memalign(void** out, size_t align, size_t size) {
  record(__builtin_return_address(0));
  *out = __libc_memalign(align, size);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif
