// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/packed.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "byoc/base/status.h"
#include "byoc/host/plugins.h"
#include "runtime/host/host.h"

struct byoc_host_ctx {
  std::string plugin;  // its id
};

namespace byoc {
namespace {

struct Packed {
  std::mutex mutex;  // held while filling
  bool filled = false;
  std::string key;
  uint64_t align = 0;
  int64_t bytes = 0;
  void* memory = nullptr;
  DLTensor view{};
  ~Packed() {
    if (memory) host_counts().packed_bytes -= bytes;
    host_table()->free(nullptr, memory);
  }
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<Packed>> entries;
};

Registry& registry() {
  static Registry& registry = *new Registry;  // outlives whatever releases at exit
  return registry;
}

void forget(Packed* packed) {
  {
    std::lock_guard lock(registry().mutex);
    auto found = registry().entries.find(packed->key);
    if (found != registry().entries.end() && found->second.expired())
      registry().entries.erase(found);
  }
  --host_counts().packed;
  delete packed;
}

std::shared_ptr<Packed> find_or_make(std::string key, uint64_t bytes, uint64_t align) {
  std::shared_ptr<Packed> fresh(new Packed, forget);  // before the lock, which forget takes
  ++host_counts().packed;
  fresh->key = std::move(key);
  fresh->bytes = static_cast<int64_t>(bytes);
  fresh->align = align;
  std::lock_guard lock(registry().mutex);
  std::weak_ptr<Packed>& entry = registry().entries[fresh->key];
  if (auto packed = entry.lock()) return packed;
  entry = fresh;
  return fresh;
}

byoc_status* refuse(uint32_t code, const std::string& message) {
  return host_table()->status_new(nullptr, code, -1, -1, nullptr, 0,
                                  {message.data(), message.size()});
}

constexpr uint64_t kLargePage = uint64_t{2} << 20;

// Weights are many megabytes that every run reads: pages of 2 MiB, where the system has them, need
// a tenth of the page faults and of the translations. Huge pages are requested only for whole pages
// of weights.
void* allocate(uint64_t bytes, uint64_t align) {
  if (bytes < kLargePage) return host_table()->alloc(nullptr, bytes, align);
  void* memory = host_table()->alloc(nullptr, bytes, std::max(align, kLargePage));
  if (memory) ::madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return memory;
}

byoc_status* fill_once(Packed& packed, byoc_fill_fn fill, void* u) {
  std::lock_guard lock(packed.mutex);
  if (packed.filled) return nullptr;
  if (!packed.memory) {
    packed.memory = allocate(static_cast<uint64_t>(packed.bytes), packed.align);
    if (!packed.memory)
      return refuse(BYOC_RESOURCE_EXHAUSTED, cat("no memory for ", packed.bytes, " packed bytes"));
    host_counts().packed_bytes += packed.bytes;
  }
  if (byoc_status* status = fill(u, packed.memory, static_cast<uint64_t>(packed.bytes)))
    return status;
  packed.view = {packed.memory, {kDLCPU, 0}, 1, {kDLUInt, 8, 1}, &packed.bytes, nullptr, 0};
  packed.filled = true;
  return nullptr;
}

}  // namespace

const byoc_host* host_table_of(std::string_view plugin) {
  struct Own {
    byoc_host_ctx ctx;
    byoc_host table;
  };
  static std::mutex mutex;
  static auto& tables = *new std::map<std::string, Own, std::less<>>;  // plugins run until the end
  std::lock_guard lock(mutex);
  auto found = tables.find(plugin);
  if (found != tables.end()) return &found->second.table;
  Own& own = tables[std::string(plugin)];
  own.ctx.plugin = plugin;
  own.table = *host_table();
  own.table.ctx = &own.ctx;
  return &own.table;
}

byoc_status* packed_get(byoc_host_ctx* ctx, byoc_bytes key, uint64_t n, uint64_t align,
                        byoc_fill_fn fill, void* u, byoc_held* out) noexcept {
  try {
    if (n > INT64_MAX || key.n == 0)
      return refuse(BYOC_INVALID_ARGUMENT,
                    "packed_get: the key is empty, or the size is 2^63 bytes or more");
    // No id contains '\0': different pairs of plugin and key give different names.
    std::string name = ctx ? ctx->plugin : "";
    name.append(1, '\0').append(static_cast<const char*>(key.p), key.n);
    auto packed = find_or_make(std::move(name), n, align);
    if (packed->bytes != static_cast<int64_t>(n) || packed->align < align) {
      return refuse(BYOC_FAILED_PRECONDITION,
                    cat("packed_get: ", n, " bytes at ", align, " requested with a key that has ",
                        packed->bytes, " at ", packed->align));
    }
    if (byoc_status* status = fill_once(*packed, fill, u)) return status;
    auto* hold = new std::shared_ptr<Packed>(std::move(packed));
    *out = {&(*hold)->view, hold,
            [](void* ctx) { delete static_cast<std::shared_ptr<Packed>*>(ctx); }};
    return nullptr;
  } catch (...) {
    return refuse(BYOC_RESOURCE_EXHAUSTED, "out of memory");
  }
}

}  // namespace byoc
