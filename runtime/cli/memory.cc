// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/memory.h"

#include <charconv>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "runtime/cli/output.h"
#include "runtime/host/host.h"

namespace byoc::cli {
namespace {

/// Returns the value of a line of /proc/self/status in bytes, 0 where the kernel has no such line.
uint64_t status_field(const std::string& status, std::string_view name) {
  size_t at = status.find(name);
  if (at == std::string::npos) return 0;
  at = status.find_first_not_of(" \t", at + name.size());
  if (at == std::string::npos) return 0;
  uint64_t kib = 0;
  std::from_chars(status.data() + at, status.data() + status.size(), kib);
  return kib * 1024;
}

}  // namespace

MemoryUse memory_use(const Session& session, const Context& context) {
  MemoryUse use;
  use.packed_bytes = static_cast<uint64_t>(host_counts().packed_bytes.load());
  use.arena_bytes = session.arena_bytes(context);
  use.workspace_bytes = session.workspace_bytes(context);
  for (const auto& [key, buffer] : session.executable().constants)
    use.constant_bytes += buffer->size();
  if (auto status = read_file("/proc/self/status"); status.ok()) {
    use.anonymous_bytes = status_field(*status, "RssAnon:");
    use.file_bytes = status_field(*status, "RssFile:");
  }
  return use;
}

std::string memory_line(const MemoryUse& use) {
  return cat("memory: ", format_mib(use.packed_bytes), " packed weights, ",
             format_mib(use.arena_bytes), " arena, ", format_mib(use.workspace_bytes),
             " workspace, ", format_mib(use.constant_bytes), " constants as they were; ",
             format_mib(use.anonymous_bytes), " anonymous in all, ", format_mib(use.file_bytes),
             " of files\n");
}

nlohmann::ordered_json to_json(const MemoryUse& use) {
  return {{"packed_bytes", use.packed_bytes},       {"arena_bytes", use.arena_bytes},
          {"workspace_bytes", use.workspace_bytes}, {"constant_bytes", use.constant_bytes},
          {"anonymous_bytes", use.anonymous_bytes}, {"file_bytes", use.file_bytes}};
}

}  // namespace byoc::cli
