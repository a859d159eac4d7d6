// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants in a plugin's own layout, made once per process and shared by all callers (byoc_host).
#include <functional>
#include <map>
#include <string_view>

#include "byoc/base/buffer.h"
#include "byoc/base/status.h"
#include "byoc/plugin/abi.h"

namespace byoc {

/// Returns host_table() for the plugin of that id, which its entry and its instances get: keys
/// of packed_get are the plugin's own. The process keeps one table per id and always returns
/// the same one.
const byoc_host* host_table_of(std::string_view plugin);

/// Packed constants by the hash of their key.
using PackedByName = std::map<ContentKey, std::shared_ptr<const Buffer>>;

/// Connects the calls of packed_get on this thread with a module that is compiled or loaded, for as
/// long as it lives.
class PackedScope {
 public:
  PackedScope();
  ~PackedScope();
  PackedScope(const PackedScope&) = delete;
  PackedScope& operator=(const PackedScope&) = delete;

  PackedByName stored;                  ///< packed_get returns these without a call of fill
  std::function<Status()> before_fill;  ///< may be empty; its error is that of packed_get
  /// Returns what packed_get has returned in this scope. The memory is shared with its holders.
  PackedByName made() const;
  /// Returns a view of bytes that lie in memory of made(), without a copy; null for other bytes.
  std::shared_ptr<const Buffer> view(std::span<const std::byte> bytes) const;

 private:
  friend struct PackedAccess;
  std::map<const std::byte*, std::shared_ptr<struct Packed>> by_address_;
  std::map<ContentKey, std::shared_ptr<struct Packed>> made_;
  PackedScope* outer_;
};

/// Implements byoc_host::packed_get. The memory lives until the last holder releases it. A failing
/// fill leaves no entry, so that the next caller tries again. fill must not request the same key.
byoc_status* packed_get(byoc_host_ctx*, byoc_bytes key, uint64_t n, uint64_t align,
                        byoc_fill_fn fill, void* u, byoc_held* out) noexcept;

/// Returns whether this thread fills a large packed constant in memory that may be spilled:
/// parallel loops then release it now and then.
bool fills_spilled() noexcept;

}  // namespace byoc
