// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/section_pool.h"

#include <algorithm>

#include "byoc/base/memory.h"

namespace byoc {
namespace {

using Bytes = std::span<const std::byte>;

/// A section of the mapped file, as the owner of a buffer. The destructor releases the section's
/// pages when the last holder of the buffer is gone. A page shared with a neighbouring section is
/// read again from the file when that section is next read.
struct MappedSection {
  MappedSection(std::shared_ptr<const MappedFile> file, Bytes bytes)
      : file(std::move(file)), bytes(bytes) {}
  std::shared_ptr<const MappedFile> file;
  Bytes bytes;
  ~MappedSection() { release_pages(bytes); }
};

Status add(PlacedSection placed, const ContentKey& key, Pool& pool) {
  const size_t index = placed.index;
  if (pool.emplace(key, std::move(placed)).second) return {};
  return corrupt_artifact(cat("section ", index, " has the key of an earlier one"));
}

/// Adds a constant that is put in order when it is first read.
Status add_reordered(const Section& section, size_t index, Pool& pool) {
  auto source = section.from.size() == 1 ? pool.find(section.from[0]) : pool.end();
  if (source == pool.end() || source->second.is_reordered ||
      !is_order_of(section.order, section.size, source->second.buffer->size()))
    return corrupt_artifact(cat("section ", index, " is no order of the elements of another one"));
  auto fill = [order = section.order, from = source->second.buffer](std::span<std::byte> to) {
    if (from->verify()) restore_order(order, from->bytes(), to);
  };
  auto buffer = Buffer::make_later(section.size, section.key, fill);
  return add({index, 0, std::move(buffer), true}, section.key, pool);
}

}  // namespace

Status corrupt_artifact(std::string message) {
  return data_loss(std::move(message))
      .with_slug("artifact-corrupt")
      .with_help("copy the file again, or compile the model again");
}

uint64_t padding_after(uint64_t size) {
  return (kSectionAlignment - size % kSectionAlignment) % kSectionAlignment;
}

Result<Bytes> Parts::next(const std::string& name, uint64_t size) {
  BYOC_TRY_STATUS(skip_zeros());
  if (size > file_.size() - offset_) {
    return corrupt_artifact(cat(name, " at ", offset_, " has ", size, " bytes, the file only ",
                                file_.size() - offset_, " more"));
  }
  Bytes part = file_.subspan(offset_, size);
  offset_ += size;
  return part;
}

Status Parts::skip_zeros() {
  uint64_t n = std::min<uint64_t>(padding_after(offset_), file_.size() - offset_);
  for (std::byte byte : file_.subspan(offset_, n)) {
    if (byte != std::byte{0})
      return corrupt_artifact(cat("the padding at ", offset_, " is not zero"));
  }
  offset_ += n;
  return {};
}

Result<Pool> read_sections(Parts& parts, const std::vector<Section>& sections,
                           const std::shared_ptr<const MappedFile>& file, ModelFiles& models) {
  Pool pool;
  for (size_t k = 0; k < sections.size(); ++k) {
    const Section& section = sections[k];
    if (!section.file.empty()) {
      BYOC_TRY(auto buffer, models.read(section));
      BYOC_TRY_STATUS(add({k, 0, std::move(buffer), true, section.file[0]}, section.key, pool));
    }
    if (!section.is_stored()) continue;
    BYOC_TRY(Bytes bytes, parts.next(cat("section ", k), section.size));
    const auto offset = static_cast<uint64_t>(bytes.data() - file->bytes().data());
    auto owner = std::make_shared<const MappedSection>(file, bytes);
    auto buffer = Buffer::adopt_unverified(bytes, std::move(owner), section.key);
    BYOC_TRY_STATUS(add({k, offset, std::move(buffer)}, section.key, pool));
  }
  if (!parts.at_end()) return corrupt_artifact("bytes follow the last section");
  for (size_t k = 0; k < sections.size(); ++k) {
    if (!sections[k].from.empty() && sections[k].file.empty())
      BYOC_TRY_STATUS(add_reordered(sections[k], k, pool));
  }
  return pool;
}

Status check_hash(const PlacedSection& section) {
  if (section.buffer->verify()) return {};
  if (!section.file.empty()) return other_weights(section.file);
  return corrupt_artifact(cat("section ", section.index, " at ", section.offset, ", ",
                              section.buffer->size(), " bytes: the hash does not fit"));
}

Status check_hashes(const Pool& pool, const std::set<ContentKey>& later) {
  std::vector<const PlacedSection*> order(pool.size());  // as in the file
  for (const auto& [key, section] : pool) {
    if (!later.contains(key)) order[section.index] = &section;
  }
  for (const PlacedSection* section : order) {
    if (section != nullptr) BYOC_TRY_STATUS(check_hash(*section));
  }
  return {};
}

Result<std::shared_ptr<const Buffer>> find_section(const Pool& pool, const ContentKey& key) {
  auto found = pool.find(key);
  if (found == pool.end()) return corrupt_artifact(cat("no section has the key ", key));
  return found->second.buffer;
}

}  // namespace byoc
