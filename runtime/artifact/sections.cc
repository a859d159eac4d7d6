// SPDX-License-Identifier: Apache-2.0
// The bytes of an artifact: constants, packed constants and blobs, each once.
#include "byoc/plugin/abi.h"
#include "byoc/runtime/stored_constants.h"
#include "runtime/artifact/manifest.h"

namespace byoc {

bool is_stored(const ExternalModule& module, const ExternalConstant& constant) {
  return (module.flags & BYOC_MODULE_NATIVE) == 0 || constant.use == BYOC_CONST_KEPT;
}

std::vector<ContentKey> constant_keys(const Executable& executable) {
  std::vector<ContentKey> keys;
  for (const ProgramConstant& constant : executable.program.constants) keys.push_back(constant.key);
  for (const ExternalModule& module : executable.modules) {
    for (const ExternalFunction& function : module.functions) {
      for (const ExternalConstant& constant : function.constants)
        if (is_stored(module, constant)) keys.push_back(constant.key);
      for (const auto& packed : function.packed) keys.push_back(packed.first);
    }
    for (const auto& packed : module.packed) keys.push_back(packed.second);
  }
  return keys;
}

std::shared_ptr<const Buffer> fallback_manifest(const Executable& executable) {
  const std::string text = write_manifest(*executable.fallback, {});
  return Buffer::copy(std::as_bytes(std::span(text)));
}

namespace {

std::map<ContentKey, std::shared_ptr<const Buffer>> blobs_of(const Executable& executable) {
  std::map<ContentKey, std::shared_ptr<const Buffer>> blobs;
  for (const ExternalModule& module : executable.modules) {
    if (module.blob) blobs.emplace(module.blob->key(), module.blob);
  }
  return blobs;
}

Status add_sections(const Executable& executable,
                    std::map<ContentKey, std::shared_ptr<const Buffer>>& pool) {
  pool.merge(blobs_of(executable));
  for (const ContentKey& key : constant_keys(executable)) {
    auto found = executable.constants.find(key);
    if (found == executable.constants.end() || found->second == nullptr) {
      return invalid(cat("no bytes for key ", key)).with_slug("executable");
    }
    pool.emplace(*found);
  }
  return {};
}

}  // namespace

Result<std::vector<std::shared_ptr<const Buffer>>> sections_of(const Executable& executable) {
  std::map<ContentKey, std::shared_ptr<const Buffer>> pool;
  BYOC_TRY_STATUS(add_sections(executable, pool));
  if (const Executable* fallback = executable.fallback.get()) {
    BYOC_TRY_STATUS(add_sections(*fallback, pool).at("fallback"));
    const auto manifest = fallback_manifest(executable);
    pool.emplace(manifest->key(), manifest);
  }
  std::vector<std::shared_ptr<const Buffer>> sections;
  for (auto& [key, buffer] : pool) sections.push_back(std::move(buffer));
  return sections;
}

}  // namespace byoc
