// SPDX-License-Identifier: Apache-2.0
// The bytes of an artifact: constants, packed constants and blobs, each once.
#include <map>

#include "byoc/base/memory.h"
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
    if (!found->second->verify()) return data_loss(cat("the constant ", key, " is damaged"));
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

namespace {

constexpr uint64_t kLeastReordered = 4096;  // bytes; smaller ones are stored as they are

bool is_read_later(const ExternalModule& module, const ExternalConstant& constant) {
  return (module.flags & BYOC_MODULE_PACKED) != 0 && constant.use == BYOC_CONST_PACKED;
}

std::vector<const Executable*> with_fallbacks(std::span<const Executable* const> executables) {
  std::vector<const Executable*> out;
  for (const Executable* executable : executables) {
    out.push_back(executable);
    if (executable->fallback) out.push_back(executable->fallback.get());
  }
  return out;
}

/// The packed constants of these executables, and dims of the constants that they are made of.
struct PackedParts {
  std::map<ContentKey, std::shared_ptr<const Buffer>> packed;
  std::map<ContentKey, std::vector<int64_t>> dims;
};

PackedParts packed_parts(std::span<const Executable* const> executables,
                         const std::set<ContentKey>& later) {
  PackedParts out;
  for (const Executable* executable : executables) {
    for (const ExternalModule& module : executable->modules) {
      for (const auto& [name, contents] : module.packed)
        out.packed.emplace(contents, executable->constants.at(contents));
      for (const ExternalFunction& function : module.functions) {
        for (const ExternalConstant& constant : function.constants)
          if (later.contains(constant.key)) out.dims.emplace(constant.key, constant.type.dims);
      }
    }
  }
  return out;
}

/// Fills `from` and `order` when a packed constant has the elements.
void find_source(const PackedParts& parts, const Buffer& constant, Section& section) {
  for (const auto& [key, packed] : parts.packed) {
    auto order = find_order(constant.bytes(), parts.dims.at(constant.key()), packed->bytes());
    if (!order) continue;
    section.from = {key};
    section.order = *std::move(order);
    release_spilled(packed->bytes());
    break;
  }
  release_spilled(constant.bytes());
}

}  // namespace

std::set<ContentKey> read_later(std::span<const Executable* const> executables) {
  std::set<ContentKey> later, read;
  for (const Executable* executable : with_fallbacks(executables)) {
    for (const ProgramConstant& constant : executable->program.constants) read.insert(constant.key);
    for (const ExternalModule& module : executable->modules) {
      for (const auto& packed : module.packed) read.insert(packed.second);
      for (const ExternalFunction& function : module.functions) {
        for (const auto& packed : function.packed) read.insert(packed.first);
        for (const ExternalConstant& constant : function.constants) {
          if (is_stored(module, constant))
            (is_read_later(module, constant) ? later : read).insert(constant.key);
        }
      }
    }
  }
  std::erase_if(later, [&](const ContentKey& key) { return read.contains(key); });
  return later;
}

std::vector<Section> table_of(const std::vector<std::shared_ptr<const Buffer>>& sections) {
  std::vector<Section> out;
  for (const auto& buffer : sections) out.push_back({buffer->key(), buffer->size()});
  return out;
}

std::vector<Section> table_of(std::span<const Executable* const> executables,
                              const std::vector<std::shared_ptr<const Buffer>>& sections) {
  const std::vector<const Executable*> all = with_fallbacks(executables);
  const std::set<ContentKey> later = read_later(executables);
  const PackedParts parts = packed_parts(all, later);
  std::vector<Section> out = table_of(sections);
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k].size >= kLeastReordered && later.contains(out[k].key))
      find_source(parts, *sections[k], out[k]);
  }
  return out;
}

}  // namespace byoc
