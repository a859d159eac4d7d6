// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sections of an artifact whose bytes are in files of the model.
#include <map>

#include "byoc/base/file.h"
#include "byoc/runtime/model_weights.h"
#include "runtime/artifact/manifest.h"

namespace byoc {

/// Sets `file` and `place` of the sections that parts of the model have the bytes of, and leaves
/// those stored whose source is then none that is stored. `sections` are their bytes.
/// Cost: O(bytes) of sections that are found, else usually O(sections * parts).
/// Returns the bytes of the sections that are not stored.
uint64_t leave_out(std::span<const ModelPart> parts,
                   const std::vector<std::shared_ptr<const Buffer>>& sections,
                   std::vector<Section>& table);

/// The files of the model that an artifact names, each opened once.
class ModelFiles {
 public:
  /// `folder` is that of the artifact; "": it has none.
  explicit ModelFiles(std::string folder) : folder_(std::move(folder)) {}
  /// Returns the bytes of a section that is not stored; they are compared with their key when
  /// they are first read. Errors: kDataLoss, slug "artifact-corrupt", for a name with a folder, a
  /// place beyond the end, and an order that does not fit; slug "missing-weights".
  Result<std::shared_ptr<const Buffer>> read(const Section& section);

 private:
  Result<std::shared_ptr<const MappedFile>> open(const std::string& name);
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

/// Returns the error for bytes of a model's file that have another hash.
Status other_weights(const std::string& file);

}  // namespace byoc
