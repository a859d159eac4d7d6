// SPDX-License-Identifier: Apache-2.0
#pragma once
// Artifacts without weights: constants whose bytes are in a file of the model are read from there.
#include <span>
#include <string>
#include <vector>

#include "byoc/runtime/sizes.h"

namespace byoc {

/// The bytes of a tensor in a file of the model.
struct ModelPart {
  std::string file;                  ///< the name of the file, without folders
  uint64_t offset = 0;               ///< of the first byte in the file
  std::span<const std::byte> bytes;  ///< the contents, which outlive the call
  std::vector<int64_t> dims;         ///< of the tensor
  ContentKey key;                    ///< the hash of the bytes
};

/// Writes an artifact as save_artifact_sizes does, but constants that are one of `parts`, or have
/// its elements in another order, are not stored: the file has the place of that part. Constants of
/// less than 4 KiB are stored. Returns the bytes that are not. load_artifact looks for the files in
/// the folder of the artifact, and in those of BYOC_WEIGHTS: slug "missing-weights" when there is
/// none, "other-weights" when its bytes are others. Other readers refuse the file by its version.
Result<uint64_t> save_artifact_without(std::span<const SizedExecutable> sizes,
                                       std::span<const ModelPart> parts, const std::string& path);

}  // namespace byoc
