// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/model_sections.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "byoc/base/env.h"
#include "byoc/base/memory.h"
#include "runtime/artifact/section_pool.h"

namespace byoc {
namespace {

constexpr uint64_t kLeastLeftOut = 4096;  // bytes; smaller constants are stored

void use(const ModelPart& part, ElementOrder order, Section& section) {
  section.file = {part.file};
  section.place = {part.offset, part.bytes.size()};
  section.from.clear();
  section.order = std::move(order);
}

/// Uses a part that has the elements of the section in another order.
void find_part(std::span<const ModelPart> parts, const Buffer& bytes, Section& section) {
  for (const ModelPart& part : parts) {
    if (part.bytes.size() < kLeastLeftOut || part.bytes.size() > bytes.size()) continue;
    auto order = find_order(part.bytes, part.dims, bytes.bytes());
    if (!order) continue;
    use(part, *std::move(order), section);
    break;
  }
  release_spilled(bytes.bytes());
}

/// Returns the folders where files of the model are sought, in order.
std::vector<std::string> folders_of(const std::string& artifact) {
  std::vector<std::string> out;
  if (!artifact.empty()) out.push_back(artifact);
  const std::string given = env_value("BYOC_WEIGHTS");
  for (size_t begin = 0; begin < given.size();) {
    const size_t end = std::min(given.find(':', begin), given.size());
    if (end > begin) out.push_back(given.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

uint64_t leave_out(std::span<const ModelPart> parts,
                   const std::vector<std::shared_ptr<const Buffer>>& sections,
                   std::vector<Section>& table) {
  std::map<ContentKey, const ModelPart*> by_key;
  for (const ModelPart& part : parts) by_key.emplace(part.key, &part);
  for (size_t k = 0; k < table.size(); ++k) {
    if (table[k].size < kLeastLeftOut) continue;
    auto same = by_key.find(table[k].key);
    if (same != by_key.end()) use(*same->second, {}, table[k]);
    else if (table[k].is_stored()) find_part(parts, *sections[k], table[k]);
  }
  std::set<ContentKey> stored;
  for (const Section& section : table)
    if (section.is_stored()) stored.insert(section.key);
  for (Section& section : table) {
    if (section.from.empty() || stored.contains(section.from[0])) continue;
    section.from.clear();
    section.order = {};
  }
  uint64_t left = 0;
  for (const Section& section : table)
    if (!section.file.empty()) left += section.size;
  return left;
}

Result<std::shared_ptr<const MappedFile>> ModelFiles::open(const std::string& name) {
  if (auto known = files_.find(name); known != files_.end()) return known->second;
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos ||
      name.find('\0') != name.npos)
    return corrupt_artifact(cat("\"", name, "\" is no name of a file"));
  std::string tried;
  for (const std::string& folder : folders_of(folder_)) {
    auto file = MappedFile::open(cat(folder, "/", name));
    if (file.ok()) return files_[name] = *std::move(file);
    tried += cat(tried.empty() ? "" : "; ", file.status().message());
  }
  return not_found(cat("its weights are in ", name, ", a file of the model, which is not there: ",
                       tried.empty() ? "no folder is known" : tried))
      .with_slug("missing-weights")
      .with_help("copy the model beside the artifact, or set BYOC_WEIGHTS to its folder");
}

Result<std::shared_ptr<const Buffer>> ModelFiles::read(const Section& section) {
  if (section.file.size() != 1 || section.place.size() != 2)
    return corrupt_artifact("a section of the model's file has no place");
  const bool is_ordered = !section.order.loops.empty();
  const auto [offset, size] = std::pair(section.place[0], section.place[1]);
  if (is_ordered ? !is_order_of(section.order, size, section.size) : size != section.size)
    return corrupt_artifact("a section is no order of the elements of the model's");
  BYOC_TRY(const auto file, open(section.file[0]));
  if (offset > file->bytes().size() || size > file->bytes().size() - offset)
    return other_weights(section.file[0]);
  const std::span<const std::byte> bytes = file->bytes().subspan(offset, size);
  const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data()) % Buffer::kAlignment == 0;
  if (!is_ordered && is_aligned) return Buffer::adopt_unverified(bytes, file, section.key);
  auto fill = [file, bytes, order = section.order](std::span<std::byte> to) {
    if (!order.loops.empty()) apply_order(order, bytes, to);
    else if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    release_pages(bytes);
  };
  return Buffer::make_later(section.size, section.key, std::move(fill));
}

Status other_weights(const std::string& file) {
  return Status(Code::kStaleArtifact,
                cat("its weights are in ", file, ", and that file has other bytes now"))
      .with_slug("other-weights")
      .with_help("use the file of the model that was compiled, or compile the model again");
}

}  // namespace byoc
