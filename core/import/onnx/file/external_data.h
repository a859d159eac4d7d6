// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads weights from files next to the model.
#include <filesystem>
#include <string>

#include "byoc/base/status.h"

namespace byoc::onnx_import {

/// The folder of external data. Only files inside it are read: a location that is absolute,
/// contains "..", or leaves the folder through a symbolic link is refused (slug "external-data").
class ExternalFolder {
 public:
  ExternalFolder() = default;  // none: all external data is refused
  explicit ExternalFolder(const std::string& model_path);
  /// Checked bytes of a file. find() checks that `location` has `size` bytes at `offset`; read()
  /// copies them.
  struct Slice {
    std::filesystem::path path;
    uint64_t offset = 0, size = 0;
  };
  Result<Slice> find(const std::string& location, uint64_t offset, uint64_t size) const;
  static Status read(const Slice& slice, std::byte* out);

 private:
  std::filesystem::path folder_;  // canonical
};

}  // namespace byoc::onnx_import
