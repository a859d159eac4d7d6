// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants in a plugin's own layout, made once per process and shared by all callers (byoc_host).
#include <string_view>

#include "byoc/plugin/abi.h"

namespace byoc {

/// Returns host_table() for the plugin of that id, which its entry and its instances get: keys
/// of packed_get are the plugin's own. The process keeps one table per id and always returns
/// the same one.
const byoc_host* host_table_of(std::string_view plugin);

/// Implements byoc_host::packed_get. The memory lives until the last holder releases it. A failing
/// fill leaves no entry, so that the next caller tries again. fill must not request the same key.
byoc_status* packed_get(byoc_host_ctx*, byoc_bytes key, uint64_t n, uint64_t align,
                        byoc_fill_fn fill, void* u, byoc_held* out) noexcept;

}  // namespace byoc
