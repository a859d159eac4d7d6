// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sections of a file that is read: views of the mapped file, with hashes still to be checked.
#include <map>
#include <set>

#include "runtime/artifact/manifest.h"
#include "runtime/artifact/model_sections.h"

namespace byoc {

inline constexpr uint64_t kSectionAlignment = Buffer::kAlignment;  // in the file

/// Returns the error for a file that is damaged: slug "artifact-corrupt".
Status corrupt_artifact(std::string message);
/// Returns the zeros between a part that ends at `size` and the next one.
uint64_t padding_after(uint64_t size);

/// Reads the file part after part; no byte belongs to two parts.
class Parts {
 public:
  /// `offset`: the size of the header.
  Parts(std::span<const std::byte> file, uint64_t offset) : file_(file), offset_(offset) {}
  bool at_end() const { return offset_ == file_.size(); }
  /// Returns the next `size` bytes, which begin at a multiple of 64 after zeros.
  Result<std::span<const std::byte>> next(const std::string& name, uint64_t size);

 private:
  Status skip_zeros();
  std::span<const std::byte> file_;
  uint64_t offset_;
};

struct PlacedSection {
  size_t index;     // in the manifest's list
  uint64_t offset;  // in the file
  std::shared_ptr<const Buffer> buffer;
  bool is_reordered = false;  // made of another section, when it is first read
  std::string file = {};      // of the model, that it is in
};
using Pool = std::map<ContentKey, PlacedSection>;

/// Returns views of the sections, with hashes still to be checked; they keep the mapping alive.
Result<Pool> read_sections(Parts& parts, const std::vector<Section>& sections,
                           const std::shared_ptr<const MappedFile>& file, ModelFiles& models);
Status check_hash(const PlacedSection& section);
/// Checks all hashes but those of `later`, which are checked when their bytes are first read.
Status check_hashes(const Pool& pool, const std::set<ContentKey>& later);
/// Returns the bytes of a key. Errors: kDataLoss, slug "artifact-corrupt".
Result<std::shared_ptr<const Buffer>> find_section(const Pool& pool, const ContentKey& key);

}  // namespace byoc
