// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/packed.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "byoc/base/memory.h"
#include "byoc/base/status.h"
#include "byoc/host/plugins.h"
#include "runtime/guard/guarded_memory.h"
#include "runtime/host/host.h"

struct byoc_host_ctx {
  std::string plugin;  // its id
};

namespace byoc {

struct Packed {
  std::mutex mutex;  // held while filling
  bool filled = false;
  std::string key;  // the plugin's id, and the hash of its key
  uint64_t align = 0;
  int64_t bytes = 0;
  std::shared_ptr<void> memory;          // of its own
  std::shared_ptr<const Buffer> stored;  // or of an artifact
  DLTensor view{};
  ~Packed() {
    if (memory || stored) host_counts().packed_bytes -= bytes;
  }
};

struct PackedAccess {
  static void add(PackedScope& scope, const ContentKey& name, std::shared_ptr<Packed> packed) {
    scope.by_address_.emplace(static_cast<const std::byte*>(packed->view.data), packed);
    scope.made_.emplace(name, std::move(packed));
  }
};

namespace {

thread_local PackedScope* current_scope = nullptr;
constinit thread_local bool is_filling_spilled = false;

/// Makes fills_spilled() true when memory has several times the size that parallel loops release.
class FillScope {
 public:
  explicit FillScope(int64_t bytes)
      : outer_(std::exchange(is_filling_spilled, bytes >= kReleasing)) {}
  ~FillScope() { is_filling_spilled = outer_; }
  FillScope(const FillScope&) = delete;
  FillScope& operator=(const FillScope&) = delete;

 private:
  static constexpr int64_t kReleasing = int64_t{64} << 20;
  bool outer_;
};

struct PackedRegistry {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<Packed>> entries;
};

PackedRegistry& packed_registry() {
  static PackedRegistry& registry = *new PackedRegistry;  // outlives whatever releases at exit
  return registry;
}

void forget(Packed* packed) {
  {
    std::lock_guard lock(packed_registry().mutex);
    auto found = packed_registry().entries.find(packed->key);
    if (found != packed_registry().entries.end() && found->second.expired())
      packed_registry().entries.erase(found);
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
  std::lock_guard lock(packed_registry().mutex);
  std::weak_ptr<Packed>& entry = packed_registry().entries[fresh->key];
  if (auto packed = entry.lock()) return packed;
  entry = fresh;
  return fresh;
}

byoc_status* refuse(uint32_t code, const std::string& message) {
  return host_table()->status_new(nullptr, code, -1, -1, nullptr, 0,
                                  {message.data(), message.size()});
}

constexpr uint64_t kPage = 4096, kLargePage = uint64_t{2} << 20;

std::shared_ptr<void> guarded(uint64_t bytes, uint64_t align) {
  auto memory = GuardedMemory::reserve(bytes);
  if (!memory.ok() || !memory->place("a packed constant", bytes, align, Placement::kAtEnd).ok())
    return nullptr;
  auto owner = std::make_shared<GuardedMemory>(*std::move(memory));
  return {owner, owner->data()};
}

// Weights are many megabytes that every run reads: pages of 2 MiB, where the system has them, need
// a tenth of the page faults and of the translations. Huge pages are requested only for whole pages
// of weights.
std::shared_ptr<void> allocate(uint64_t bytes, uint64_t align) {
  if (guards_memory() && align <= kPage) return guarded(bytes, std::max<uint64_t>(align, 1));
  if (align <= kPage) {
    if (auto spilled = spilled_memory(bytes, true)) return spilled;
  }
  const bool is_large = bytes >= kLargePage;
  void* memory =
      host_table()->alloc(nullptr, bytes, is_large ? std::max(align, kLargePage) : align);
  if (!memory) return nullptr;
  if (is_large) ::madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return {memory, [](void* p) { host_table()->free(nullptr, p); }};
}

void finish(Packed& packed, void* memory) {
  packed.view = {memory, {kDLCPU, 0}, 1, {kDLUInt, 8, 1}, &packed.bytes, nullptr, 0};
  packed.filled = true;
}

/// Takes the memory from the artifact that is being loaded. Returns false when it has none of this
/// name, size and alignment.
bool take_stored(Packed& packed, const ContentKey& name) {
  if (!current_scope) return false;
  auto found = current_scope->stored.find(name);
  if (found == current_scope->stored.end() || packed.align > Buffer::kAlignment ||
      found->second->size() != static_cast<uint64_t>(packed.bytes))
    return false;
  packed.stored = found->second;
  host_counts().packed_bytes += packed.bytes;
  finish(packed, const_cast<std::byte*>(packed.stored->data()));
  return true;
}

/// Allows `fill` to read the constants of the module that is being loaded.
byoc_status* allow_fill() {
  if (!current_scope || !current_scope->before_fill) return nullptr;
  const Status status = current_scope->before_fill();
  if (status.ok()) return nullptr;
  return refuse(static_cast<uint32_t>(status.code()), status.message());
}

/// Releases the spilled constants that fills have read, every 32 MiB.
void release_read(int64_t bytes) {
  constexpr int64_t kEvery = int64_t{32} << 20;
  static std::atomic<int64_t> filled = 0;
  const int64_t before = filled.fetch_add(bytes);
  if (before / kEvery != (before + bytes) / kEvery) release_spilled();
}

byoc_status* fill_once(Packed& packed, const ContentKey& name, byoc_fill_fn fill, void* u) {
  std::lock_guard lock(packed.mutex);
  if (packed.filled || (!packed.memory && take_stored(packed, name))) return nullptr;
  if (byoc_status* status = allow_fill()) return status;
  if (!packed.memory) {
    packed.memory = allocate(static_cast<uint64_t>(packed.bytes), packed.align);
    if (!packed.memory)
      return refuse(BYOC_RESOURCE_EXHAUSTED, cat("no memory for ", packed.bytes, " packed bytes"));
    host_counts().packed_bytes += packed.bytes;
  }
  FillScope scope(packed.bytes);
  if (byoc_status* status = fill(u, packed.memory.get(), static_cast<uint64_t>(packed.bytes)))
    return status;
  release_read(packed.bytes);
  finish(packed, packed.memory.get());
  return nullptr;
}

}  // namespace

PackedScope::PackedScope() : outer_(std::exchange(current_scope, this)) {}
PackedScope::~PackedScope() { current_scope = outer_; }

PackedByName PackedScope::made() const {
  PackedByName out;
  for (const auto& [name, packed] : made_) {
    const auto* bytes = static_cast<const std::byte*>(packed->view.data);
    out.emplace(name, packed->stored
                          ? packed->stored
                          : Buffer::adopt({bytes, static_cast<size_t>(packed->bytes)}, packed));
  }
  return out;
}

std::shared_ptr<const Buffer> PackedScope::view(std::span<const std::byte> bytes) const {
  auto after = by_address_.upper_bound(bytes.data());
  if (after == by_address_.begin()) return nullptr;
  const auto& [begin, packed] = *std::prev(after);
  const auto size = static_cast<size_t>(packed->bytes),
             offset = static_cast<size_t>(bytes.data() - begin);
  if (offset > size || bytes.size() > size - offset) return nullptr;
  return Buffer::adopt(bytes, packed);
}

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

bool fills_spilled() noexcept { return is_filling_spilled; }

byoc_status* packed_get(byoc_host_ctx* ctx, byoc_bytes key, uint64_t n, uint64_t align,
                        byoc_fill_fn fill, void* u, byoc_held* out) noexcept {
  try {
    if (n > INT64_MAX || key.n == 0)
      return refuse(BYOC_INVALID_ARGUMENT,
                    "packed_get: the key is empty, or the size is 2^63 bytes or more");
    // No id contains '\0': different pairs of plugin and key give different entries.
    const ContentKey name = content_key({static_cast<const std::byte*>(key.p), key.n});
    std::string entry = ctx ? ctx->plugin : "";
    entry.append(1, '\0').append(reinterpret_cast<const char*>(name.bytes.data()),
                                 name.bytes.size());
    auto packed = find_or_make(std::move(entry), n, align);
    if (packed->bytes != static_cast<int64_t>(n) || packed->align < align) {
      return refuse(BYOC_FAILED_PRECONDITION,
                    cat("packed_get: ", n, " bytes at ", align, " requested with a key that has ",
                        packed->bytes, " at ", packed->align));
    }
    if (byoc_status* status = fill_once(*packed, name, fill, u)) return status;
    if (current_scope) PackedAccess::add(*current_scope, name, packed);
    auto* hold = new std::shared_ptr<Packed>(std::move(packed));
    *out = {&(*hold)->view, hold,
            [](void* ctx) { delete static_cast<std::shared_ptr<Packed>*>(ctx); }};
    return nullptr;
  } catch (...) {
    return refuse(BYOC_RESOURCE_EXHAUSTED, "out of memory");
  }
}

}  // namespace byoc
