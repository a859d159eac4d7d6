// SPDX-License-Identifier: Apache-2.0
#include "core/measure/session/reload.h"

#include <cstring>
#include <set>

#include "byoc/base/memory.h"

namespace byoc::measure {
namespace {

Result<std::shared_ptr<const Buffer>> copy_of(const Buffer& buffer) {
  std::shared_ptr<void> memory(aligned_memory(buffer.size(), Buffer::kAlignment), std::free);
  if (memory == nullptr)
    return Status(Code::kResourceExhausted,
                  cat("no memory for a copy of a constant of ", buffer.size(), " bytes"))
        .with_slug("no-memory");
  if (buffer.size() != 0) std::memcpy(memory.get(), buffer.data(), buffer.size());
  const std::span bytes(static_cast<const std::byte*>(memory.get()), buffer.size());
  return Buffer::adopt_keyed(bytes, memory, buffer.key());
}

}  // namespace

Reload reload_of(Executable executable, const Session& loaded,
                 std::shared_ptr<const PluginSet> plugins, const SessionOptions& options) {
  std::set<ContentKey> read;
  for (const auto& [key, buffer] : loaded.executable().constants) read.insert(key);
  for (const ExternalModule& module : executable.modules) {
    for (const auto& packed : module.packed) read.insert(packed.second);
  }
  return [executable = std::move(executable), read = std::move(read), plugins = std::move(plugins),
          options]() -> Result<std::unique_ptr<Session>> {
    Executable fresh = executable;
    for (auto& [key, buffer] : fresh.constants) {
      if (!read.contains(key)) continue;
      BYOC_TRY(buffer, copy_of(*buffer));
    }
    return Session::load(std::move(fresh), plugins, options);
  };
}

}  // namespace byoc::measure
