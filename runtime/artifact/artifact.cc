// SPDX-License-Identifier: Apache-2.0
// The file: 64 bytes of header, the manifest, the sections; each begins at a multiple of 64, zeros
// between.
//   0  magic (8 bytes)      8  version (u32)      12  zero (u32)
//  16  size of the file     24  size of the manifest (u64 each)
//  32  XXH3-128 of the manifest       48  XXH3-128 of bytes 0 to 47
// Version 1 has one program, version 2 several sizes of one, whose manifests are sections, and
// version 3 several entries, each of one size or several.
// Offsets of sections follow from their sizes, so that a file has one layout only; the header's
// hash, the manifest's, the sections' and the zeros cover every byte. Numbers are little-endian.
#include "byoc/runtime/artifact.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "byoc/base/file.h"
#include "byoc/base/no_memory.h"
#include "byoc/plugin/abi.h"
#include "runtime/artifact/check_executable.h"
#include "runtime/artifact/manifest.h"
#include "runtime/artifact/section_pool.h"
#include "runtime/artifact/sizes.h"
#include "runtime/signature/signature.h"

namespace byoc {
namespace {

static_assert(std::endian::native == std::endian::little);
using Bytes = std::span<const std::byte>;

constexpr uint32_t kVersion = 1, kSizesVersion = 2, kEntriesVersion = 3;
constexpr uint32_t kReordered = 16;  // added to the version of files with reordered constants
constexpr uint32_t kFromModel = 32;  // added to that of files with constants in the model's files
constexpr std::byte kZeros[kSectionAlignment] = {};

struct ArtifactHeader {  // the layout in the file
  char magic[8] = {'\x89', 'b',  'y',  'o',
                   'c',    '\r', '\n', '\x1a'};  // as PNG's: shows a transfer as text
  uint32_t version = kVersion, zero = 0;
  uint64_t file_size = 0, manifest_size = 0;
  std::array<uint8_t, 16> manifest_hash{}, header_hash{};
};
static_assert(sizeof(ArtifactHeader) == 64);

ContentKey hash_of(const ArtifactHeader& header) {
  return content_key(
      std::as_bytes(std::span(&header, 1)).first(offsetof(ArtifactHeader, header_hash)));
}

Result<ArtifactHeader> read_header(Bytes file) {
  ArtifactHeader header;
  const ArtifactHeader good;
  size_t have = std::min(file.size(), sizeof header.magic);
  if (have == 0 || std::memcmp(file.data(), good.magic, have) != 0)
    return corrupt_artifact("it is not a byoc artifact");
  if (file.size() < sizeof header)
    return corrupt_artifact(cat("it is cut off after ", file.size(), " bytes"));
  std::memcpy(&header, file.data(), sizeof header);
  if (hash_of(header).bytes != header.header_hash)
    return corrupt_artifact("the header's hash does not fit");
  const uint32_t kind = header.version & ~(kReordered | kFromModel);
  if (kind < kVersion || kind > kEntriesVersion || header.zero != 0) {
    return Status(Code::kStaleArtifact,
                  cat("it is an artifact of version ", header.version,
                      ", this byoc reads versions ", kVersion, " to ", kEntriesVersion,
                      ", and these plus ", kReordered, ", ", kFromModel, " or both"))
        .with_slug("artifact-version")
        .with_help("compile the model again with this byoc");
  }
  header.version = kind;
  if (header.file_size == file.size()) return header;
  return corrupt_artifact(cat("it has ", file.size(), " bytes of ", header.file_size));
}

/// Returns the sections whose hashes are checked when their bytes are first read.
std::set<ContentKey> checked_later(std::span<const Manifest> manifests) {
  std::vector<const Executable*> executables;
  for (const Manifest& manifest : manifests) executables.push_back(&manifest.executable);
  std::set<ContentKey> later = read_later(executables);
  for (const Manifest& manifest : manifests) {
    for (const ContentKey& blob : manifest.blobs) later.erase(blob);
  }
  return later;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads a manifest that is a section.
Result<Manifest> manifest_in(const Pool& pool, const ContentKey& key) {
  BYOC_TRY(auto section, find_section(pool, key));
  BYOC_TRY_STATUS(check_hash(pool.at(key)));
  return read_manifest(text_of(section->bytes()));
}

/// Appends a manifest, and that of its fallback.
Status add_with_fallback(Manifest manifest, const Pool& pool, std::vector<Manifest>& out) {
  const std::optional<ContentKey> fallback = manifest.fallback;
  out.push_back(std::move(manifest));
  if (!fallback) return {};
  auto other = manifest_in(pool, *fallback);
  if (!other.ok()) return std::move(other.status()).at("fallback");
  if (other->fallback) return corrupt_artifact("a fallback has a fallback");
  out.push_back(*std::move(other));
  return {};
}

/// Adds the buffers that a manifest names.
Result<Executable> with_buffers(Manifest manifest, const Pool& pool) {
  Executable executable = std::move(manifest.executable);
  for (size_t k = 0; k < executable.modules.size(); ++k) {
    BYOC_TRY(executable.modules[k].blob, find_section(pool, manifest.blobs[k]));
  }
  for (const ContentKey& key : constant_keys(executable)) {
    BYOC_TRY(auto buffer, find_section(pool, key));
    executable.constants.emplace(key, std::move(buffer));
  }
  if (Status status = check_executable(executable); !status.ok()) {
    return corrupt_artifact(status.message()).at(status.where());
  }
  return executable;
}

/// Takes the next of `manifests`, and the one of its fallback.
Result<Executable> next_executable(std::vector<Manifest>& manifests, size_t& next,
                                   const Pool& pool) {
  const bool has_fallback = manifests[next].fallback.has_value();
  BYOC_TRY(Executable out, with_buffers(std::move(manifests[next++]), pool));
  if (!has_fallback) return out;
  auto fallback = with_buffers(std::move(manifests[next++]), pool);
  if (!fallback.ok()) return std::move(fallback.status()).at("fallback");
  out.fallback = std::make_shared<const Executable>(*std::move(fallback));
  if (Status status = check_fallback(out); !status.ok()) return corrupt_artifact(status.message());
  return out;
}

Result<std::vector<SizedExecutable>> read_sizes(std::string_view text, Parts& parts,
                                                const std::shared_ptr<const MappedFile>& file,
                                                ModelFiles& models) {
  BYOC_TRY(SizesManifest top, read_sizes_manifest(text));
  BYOC_TRY(Pool pool, read_sections(parts, top.sections, file, models));
  auto place = [](const SizeRecord& record) {
    if (record.entry.empty()) return cat("size \"", record.label, "\"");
    return cat("entry \"", record.entry, "\"", record.label.empty() ? "" : ", size ", record.label);
  };
  std::vector<Manifest> manifests;
  for (const SizeRecord& record : top.sizes) {
    auto manifest = manifest_in(pool, record.manifest);
    if (!manifest.ok()) return std::move(manifest.status()).at(place(record));
    BYOC_TRY_STATUS(add_with_fallback(*std::move(manifest), pool, manifests).at(place(record)));
  }
  BYOC_TRY_STATUS(check_hashes(pool, checked_later(manifests)));
  std::vector<SizedExecutable> sizes;
  size_t next = 0;
  for (SizeRecord& record : top.sizes) {
    auto executable = next_executable(manifests, next, pool);
    if (!executable.ok()) return std::move(executable.status()).at(place(record));
    sizes.push_back({std::move(record.label), *std::move(executable), std::move(record.entry)});
  }
  if (Status status = check_sizes(sizes); !status.ok()) return corrupt_artifact(status.message());
  return sizes;
}

/// `folder`: that of the artifact, "" when it is in memory.
Result<std::vector<SizedExecutable>> read_artifact(const std::shared_ptr<const MappedFile>& file,
                                                   const std::string& folder) {
  ModelFiles models(folder);
  BYOC_TRY(ArtifactHeader header, read_header(file->bytes()));
  Parts parts(file->bytes(), sizeof header);
  BYOC_TRY(Bytes text, parts.next("the manifest", header.manifest_size));
  if (content_key(text).bytes != header.manifest_hash) {
    return corrupt_artifact(
        cat("the manifest at ", sizeof header, ", ", text.size(), " bytes: the hash does not fit"));
  }
  if (header.version != kVersion) return read_sizes(text_of(text), parts, file, models);
  BYOC_TRY(Manifest manifest, read_manifest(text_of(text)));
  BYOC_TRY(Pool pool, read_sections(parts, manifest.sections, file, models));
  std::vector<Manifest> manifests;
  BYOC_TRY_STATUS(add_with_fallback(std::move(manifest), pool, manifests));
  BYOC_TRY_STATUS(check_hashes(pool, checked_later(manifests)));
  size_t next = 0;
  BYOC_TRY(Executable executable, next_executable(manifests, next, pool));
  std::vector<SizedExecutable> sizes;
  sizes.push_back({"", std::move(executable)});
  return sizes;
}

using Sections = std::vector<std::shared_ptr<const Buffer>>;

/// `table`: of the sections; those with `from` are left out.
Status write_artifact(uint32_t version, const std::string& manifest, const Sections& sections,
                      const std::vector<Section>& table, const std::string& path) {
  ArtifactHeader header;
  header.version = version;
  for (const Section& section : table) {
    if (!section.from.empty()) header.version |= kReordered;
    if (!section.file.empty()) header.version |= kFromModel;
  }
  header.manifest_size = manifest.size();
  header.manifest_hash = content_key(std::as_bytes(std::span(manifest))).bytes;
  std::vector<Bytes> pieces = {std::as_bytes(std::span(&header, 1))};
  header.file_size = sizeof header;
  auto add = [&](Bytes bytes) {
    pieces.push_back(Bytes(kZeros).first(padding_after(header.file_size)));
    pieces.push_back(bytes);
    header.file_size += padding_after(header.file_size) + bytes.size();
  };
  add(std::as_bytes(std::span(manifest)));
  for (size_t k = 0; k < sections.size(); ++k) {
    if (table[k].is_stored()) add(sections[k]->bytes());
  }
  header.header_hash = hash_of(header).bytes;
  return write_file(path, pieces);
}

}  // namespace

namespace {

using ModelParts = std::span<const ModelPart>;

// Returns the bytes that are not stored.
Result<uint64_t> save_one(const Executable& executable, ModelParts parts, const std::string& path) {
  BYOC_TRY_STATUS(check_executable(executable));
  BYOC_TRY_STATUS(check_fallback(executable));
  BYOC_TRY(auto sections, sections_of(executable));
  const Executable* const all[] = {&executable};
  std::vector<Section> table = table_of(all, sections);
  const uint64_t left = leave_out(parts, sections, table);
  BYOC_TRY_STATUS(
      write_artifact(kVersion, write_manifest(executable, table), sections, table, path));
  return left;
}

Result<uint64_t> save_sizes(std::span<const SizedExecutable> sizes, ModelParts parts,
                            const std::string& path) {
  BYOC_TRY_STATUS(check_sizes(sizes));
  const bool has_entries = !sizes[0].entry.empty();
  if (sizes.size() == 1 && sizes[0].label.empty() && !has_entries)
    return save_one(sizes[0].executable, parts, path);
  SizesManifest manifest;
  std::map<ContentKey, std::shared_ptr<const Buffer>> pool;
  for (const SizedExecutable& size : sizes) {
    BYOC_TRY_STATUS(check_executable(size.executable).at(size.label));
    BYOC_TRY_STATUS(check_fallback(size.executable).at(size.label));
    BYOC_TRY(Sections own, sections_of(size.executable));
    const std::string text = write_manifest(size.executable, {});
    own.push_back(Buffer::copy(std::as_bytes(std::span(text))));
    manifest.sizes.push_back({size.label, own.back()->key(), size.entry});
    for (auto& section : own) pool.emplace(section->key(), std::move(section));
  }
  Sections sections;
  for (auto& [key, section] : pool) sections.push_back(std::move(section));
  std::vector<const Executable*> executables;
  for (const SizedExecutable& size : sizes) executables.push_back(&size.executable);
  manifest.sections = table_of(executables, sections);
  const uint64_t left = leave_out(parts, sections, manifest.sections);
  BYOC_TRY_STATUS(write_artifact(has_entries ? kEntriesVersion : kSizesVersion,
                                 write_sizes_manifest(sizes[0].executable.producer, manifest),
                                 sections, manifest.sections, path));
  return left;
}

}  // namespace

Status save_artifact(const Executable& executable, const std::string& path) {
  return or_no_memory([&] { return save_one(executable, {}, path); }).status();
}

Status save_artifact_sizes(std::span<const SizedExecutable> sizes, const std::string& path) {
  return or_no_memory([&] { return save_sizes(sizes, {}, path); }).status();
}

Result<uint64_t> save_artifact_without(std::span<const SizedExecutable> sizes,
                                       std::span<const ModelPart> parts, const std::string& path) {
  return or_no_memory([&] { return save_sizes(sizes, parts, path); });
}

Result<std::vector<SizedExecutable>> load_artifact_sizes(const std::string& path) {
  return or_no_memory([&]() -> Result<std::vector<SizedExecutable>> {
    BYOC_TRY(auto file, MappedFile::open(path));
    BYOC_TRY_STATUS(check_signature(path, file->bytes()));
    const size_t slash = path.rfind('/');
    auto sizes = read_artifact(file, slash == path.npos ? "." : path.substr(0, slash + 1));
    if (!sizes.ok()) return std::move(sizes.status()).at(path);
    return sizes;
  });
}

Result<std::vector<SizedExecutable>> load_artifact_bytes(std::span<const std::byte> artifact) {
  return or_no_memory([&]() -> Result<std::vector<SizedExecutable>> {
    BYOC_TRY(auto file, MappedFile::copy_of(artifact));
    return read_artifact(file, "");
  });
}

Status check_contents(std::span<const SizedExecutable> sizes) {
  for (const SizedExecutable& size : sizes) {
    for (const auto& [key, buffer] : size.executable.constants) {
      if (!buffer->verify()) return corrupt_artifact(cat("the constant ", key, " is damaged"));
    }
    for (const ExternalModule& module : size.executable.modules) {
      if (module.blob && !module.blob->verify())
        return corrupt_artifact(cat("the code of ", module.plugin, " is damaged"));
    }
  }
  return {};
}

Result<Executable> load_artifact(const std::string& path) {
  BYOC_TRY(auto all, load_artifact_sizes(path));
  auto of_entry = take_entry(std::move(all), "");
  if (!of_entry.ok()) return std::move(of_entry.status()).at(path);
  auto& sizes = *of_entry;
  if (sizes.size() == 1) return std::move(sizes[0].executable);
  return invalid(cat("the model has ", sizes.size(), " sizes, expected one"))
      .at(path)
      .with_slug("artifact-sizes")
      .with_help(cat("it has ", describe_sizes(sizes)));
}

}  // namespace byoc
