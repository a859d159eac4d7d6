// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of artifacts whose manifests were changed by hand.
#include <cstring>
#include <string>

#include "byoc/base/buffer.h"

namespace byoc::test {

/// Returns the file with this manifest and with correct hashes, as an attacker would write it.
inline std::string with_manifest(const std::string& file, const std::string& manifest,
                                 uint32_t version = 1) {
  uint64_t old_size;
  std::memcpy(&old_size, file.data() + 24, 8);
  auto padded = [](std::string bytes) { return bytes.append((64 - bytes.size() % 64) % 64, '\0'); };
  std::string sections = file.substr(padded(file.substr(0, 64 + old_size)).size());
  std::string header = file.substr(0, 64), body = padded(manifest) + sections;
  auto place = [&](size_t at, const void* data, size_t n) {
    std::memcpy(header.data() + at, data, n);
  };
  uint64_t file_size = 64 + body.size(), manifest_size = manifest.size();
  place(8, &version, 4), place(16, &file_size, 8), place(24, &manifest_size, 8);
  ContentKey hash = content_key(std::as_bytes(std::span(manifest)));
  place(32, hash.bytes.data(), 16);
  hash = content_key(std::as_bytes(std::span(header).first(48)));
  place(48, hash.bytes.data(), 16);
  return header + body;
}

/// Returns the manifest of a file.
inline std::string manifest_of(const std::string& file) {
  uint64_t size;
  std::memcpy(&size, file.data() + 24, 8);
  return file.substr(64, size);
}

}  // namespace byoc::test
