// SPDX-License-Identifier: Apache-2.0
#include "runtime/plugin_file/plugin_manifest.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "byoc/base/json.h"
#include "byoc/plugin/manifest.h"

namespace byoc {
namespace {

constexpr size_t kMaxManifestBytes = 4096, kMaxNoteBytes = size_t{1} << 20;

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_RISCV;
#endif

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv64";
    case EM_386:
      return "x86 (32 bits)";
    case EM_ARM:
      return "arm (32 bits)";
    default:
      return cat("processor ", machine);
  }
}

Status not_a_plugin(std::string what) {
  return invalid(std::move(what))
      .with_help("a plugin is an ELF shared object, made by byoc_add_plugin()");
}

Result<Elf64_Ehdr> read_header(const ByteSource& file) {
  auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return not_a_plugin("not an ELF file");
  if (header->e_machine != kMachine || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return failed(cat("built for ", machine_name(header->e_machine), ", this machine is ",
                      BYOC_MANIFEST_ARCH))
        .with_help(cat("use a build for ", BYOC_MANIFEST_ARCH));
  }
  if (header->e_type != ET_DYN) return not_a_plugin("an ELF file, but no shared object");
  if (header->e_phentsize != sizeof(Elf64_Phdr))
    return not_a_plugin("an ELF file with a malformed header");
  return *header;
}

/// Adds up the parts that the headers of a file promise.
class Extent {
 public:
  explicit Extent(uint64_t size) : size_(size) {}
  /// Errors: kDataLoss when the file ends before the part does.
  Status add(uint64_t offset, uint64_t bytes) const {
    const auto end = static_cast<unsigned __int128>(offset) + bytes;
    if (end <= size_) return {};
    const bool is_short = end <= kLargest;
    return Status(Code::kDataLoss,
                  is_short ? cat("cut short: its headers describe ", static_cast<uint64_t>(end),
                                 " bytes or more, it has ", size_)
                           : std::string("damaged: its headers describe more than 2^48 bytes"))
        .with_help("copy it again; while a copy is under way, wait until it is complete");
  }

 private:
  static constexpr uint64_t kLargest = uint64_t{1} << 48;
  uint64_t size_;
};

Status check_segments(const ByteSource& file, const Elf64_Ehdr& header, const Extent& extent) {
  BYOC_TRY_STATUS(extent.add(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)));
  for (uint64_t k = 0; k < header.e_phnum; ++k) {
    auto segment = file.at<Elf64_Phdr>(header.e_phoff + k * sizeof(Elf64_Phdr));
    if (!segment) return extent.add(file.size(), 1);  // it has become shorter since it was opened
    BYOC_TRY_STATUS(extent.add(segment->p_offset, segment->p_filesz));
  }
  return {};
}

/// The table of sections is the last part of a file, unless `strip` or another tool removed it.
Status check_sections(const ByteSource& file, const Elf64_Ehdr& header, const Extent& extent) {
  if (header.e_shoff == 0 || header.e_shnum == 0) return {};
  Status damaged = Status(Code::kDataLoss, "damaged: its table of sections is not valid")
                       .with_help("copy it again");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum)
    return damaged;
  BYOC_TRY_STATUS(extent.add(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)));
  for (uint64_t k = 0; k < header.e_shnum; ++k) {
    auto section = file.at<Elf64_Shdr>(header.e_shoff + k * sizeof(Elf64_Shdr));
    if (!section) return extent.add(file.size(), 1);
    if (k == header.e_shstrndx && section->sh_type != SHT_STRTAB) return damaged;
    if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL) continue;
    BYOC_TRY_STATUS(extent.add(section->sh_offset, section->sh_size));
  }
  return {};
}

uint64_t round_up(uint64_t n, uint64_t align) { return (n + align - 1) / align * align; }

/// Returns the text of byoc's note in one PT_NOTE segment.
std::optional<std::string> find_note(const ByteSource& segment, uint64_t align) {
  align = align == 8 ? 8 : 4;
  for (uint64_t at = 0; auto note = segment.at<Elf64_Nhdr>(at);) {
    uint64_t name = at + sizeof *note;
    uint64_t text = name + round_up(note->n_namesz, align);
    uint64_t next = text + round_up(note->n_descsz, align);
    if (text > segment.size() || note->n_descsz > segment.size() - text) return std::nullopt;
    std::string owner(sizeof BYOC_MANIFEST_NOTE_NAME, '\0'), found(note->n_descsz, '\0');
    if (note->n_type == BYOC_MANIFEST_NOTE_TYPE && note->n_namesz == owner.size() &&
        segment.read(name, std::as_writable_bytes(std::span(owner))) &&
        std::memcmp(owner.data(), BYOC_MANIFEST_NOTE_NAME, owner.size()) == 0 &&
        segment.read(text, std::as_writable_bytes(std::span(found)))) {
      return found.substr(0, found.find('\0'));
    }
    at = next;
  }
  return std::nullopt;
}

Result<std::string> manifest_text(const ByteSource& file) {
  BYOC_TRY(Elf64_Ehdr header, read_header(file));
  for (uint64_t k = 0; k < header.e_phnum; ++k) {
    auto segment = file.at<Elf64_Phdr>(header.e_phoff + k * sizeof(Elf64_Phdr));
    if (!segment) return not_a_plugin("an ELF file that is cut short");
    if (segment->p_type != PT_NOTE) continue;
    if (segment->p_filesz > kMaxNoteBytes)
      return not_a_plugin("an ELF file with notes of more than 1 MiB");
    std::vector<std::byte> notes(segment->p_filesz);
    if (!file.read(segment->p_offset, notes)) return not_a_plugin("an ELF file that is cut short");
    auto text = find_note(ByteSource(notes), segment->p_align);
    if (text) return *std::move(text);
  }
  return invalid("no plugin manifest in it (ELF note \"byoc\")")
      .with_help(
          "if it is a plugin, build it with byoc_add_plugin() and BYOC_PLUGIN or BYOC_MANIFEST");
}

Status bad_manifest(const std::string& what) {
  return invalid(cat("its manifest is not valid: ", what))
      .with_help("write it with BYOC_PLUGIN or BYOC_MANIFEST");
}

Result<std::string> text_field(const Json& json, const char* name) {
  auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return bad_manifest(cat("no \"", name, "\""));
  return found->get<std::string>();
}

}  // namespace

bool is_plugin_id(std::string_view id) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !id.empty() && id.size() <= 64 && id[0] >= 'a' && id[0] <= 'z' &&
         std::all_of(id.begin(), id.end(), fits);
}

Status check_shared_object(const ByteSource& file) { return read_header(file).status(); }

Status check_shared_object(std::span<const std::byte> file) {
  return check_shared_object(ByteSource(file));
}

Status check_complete(const ByteSource& file) {
  BYOC_TRY(Elf64_Ehdr header, read_header(file));
  const Extent extent(file.size());
  BYOC_TRY_STATUS(check_segments(file, header, extent));
  return check_sections(file, header, extent);
}

Result<PluginManifest> read_manifest(std::span<const std::byte> file) {
  return read_manifest(ByteSource(file));
}

Result<PluginManifest> read_manifest(const ByteSource& file) {
  BYOC_TRY(std::string text, manifest_text(file));
  Result<Json> json = parse_json(text, kMaxManifestBytes);
  if (!json.ok()) return bad_manifest(json.status().message());
  PluginManifest manifest;
  BYOC_TRY(std::string schema, text_field(*json, "schema"));
  if (schema != BYOC_MANIFEST_SCHEMA) return bad_manifest(cat("schema \"", schema, "\""));
  BYOC_TRY(manifest.id, text_field(*json, "id"));
  if (!is_plugin_id(manifest.id))
    return bad_manifest(cat("id \"", manifest.id, "\" is not [a-z][a-z0-9_-]*"));
  BYOC_TRY(manifest.version, text_field(*json, "version"));
  BYOC_TRY(manifest.arch, text_field(*json, "arch"));
  auto abi = json->find("abi");
  if (abi == json->end() || !abi->is_object()) return bad_manifest("no \"abi\"");
  for (auto [name, field] :
       {std::pair{"major", &manifest.abi_major}, {"min_host_minor", &manifest.min_host_minor}}) {
    auto number = abi->find(name);
    if (number == abi->end() || !number->is_number_unsigned())
      return bad_manifest(cat("no \"abi.", name, "\""));
    *field = number->get<int64_t>();
  }
  if (auto priority = json->find("priority"); priority != json->end()) {
    if (!priority->is_number_integer()) return bad_manifest("\"priority\" is no integer");
    manifest.priority = priority->get<int64_t>();
  }
  for (auto [name, field] : {std::pair{"kept_compiles", &manifest.keeps_compiles},
                             {"parallel_compiles", &manifest.has_parallel_compiles},
                             {"weights_as_inputs", &manifest.takes_weights_as_inputs},
                             {"devices", &manifest.has_devices}}) {
    auto flag = json->find(name);
    if (flag == json->end()) continue;
    if (!flag->is_boolean()) return bad_manifest(cat("\"", name, "\" is neither true nor false"));
    *field = flag->get<bool>();
  }
  return manifest;
}

Status check_abi(const PluginManifest& manifest) {
  if (manifest.arch != BYOC_MANIFEST_ARCH) {
    return failed(cat("built for ", manifest.arch, ", this machine is ", BYOC_MANIFEST_ARCH))
        .with_help(cat("use a build for ", BYOC_MANIFEST_ARCH));
  }
  std::string ours = cat(BYOC_ABI_MAJOR, ".", BYOC_ABI_MINOR);
  if (manifest.abi_major != BYOC_ABI_MAJOR) {
    return failed(cat("needs ABI ", manifest.abi_major, ", this byoc has ", ours))
        .with_help(cat("use a byoc with ABI ", manifest.abi_major, ", or a build of ", manifest.id,
                       " for ABI ", BYOC_ABI_MAJOR));
  }
  if (manifest.min_host_minor > BYOC_ABI_MINOR) {
    return failed(cat("needs ABI ", manifest.abi_major, ".", manifest.min_host_minor,
                      ", this byoc has ", ours))
        .with_help(cat("use a newer byoc, or an older ", manifest.id));
  }
  return {};
}

}  // namespace byoc
