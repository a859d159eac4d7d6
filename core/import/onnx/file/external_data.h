// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads weights from files next to the model.
#include <filesystem>
#include <string>

#include "byoc/base/file.h"

namespace byoc::onnx_import {

/// The folder of external data. Only files inside it are read: a location that is absolute,
/// contains "..", or leaves the folder through a symbolic link is refused (slug "external-data").
class ExternalFolder {
 public:
  ExternalFolder() = default;  // none: all external data is refused
  /// The location kModelFile is in `model`, when there is one.
  explicit ExternalFolder(const std::string& model_path,
                          std::shared_ptr<const MappedFile> model = nullptr);
  /// Checked bytes of a file. find() checks that `location` has `size` bytes at `offset`; read()
  /// copies them.
  struct Slice {
    std::filesystem::path path;
    uint64_t offset = 0, size = 0;
    std::span<const std::byte> mapped = {};  ///< in the model's own file, which has no path here
  };
  Result<Slice> find(const std::string& location, uint64_t offset, uint64_t size) const;
  /// Pages of the model's file are released as soon as they are copied.
  static Status read(const Slice& slice, std::byte* out);

 private:
  Result<Slice> find_in_model(uint64_t offset, uint64_t size) const;
  std::filesystem::path folder_;  // canonical
  std::shared_ptr<const MappedFile> model_;
};

}  // namespace byoc::onnx_import
