// SPDX-License-Identifier: Apache-2.0
#include "core/conform/process/elf.h"

#include <elf.h>

#include <algorithm>
#include <span>

#include "runtime/plugin_file/plugin_manifest.h"

namespace byoc::conform {
namespace {

class Reader {
 public:
  explicit Reader(const ByteSource& file) : file_(file) {}

  Result<ElfImage> read() {
    BYOC_TRY(auto header, at<Elf64_Ehdr>(0));
    for (uint64_t k = 0; k < header.e_phnum; ++k) {
      BYOC_TRY(auto segment, at<Elf64_Phdr>(header.e_phoff + k * sizeof(Elf64_Phdr)));
      segments_.push_back(segment);
      if (segment.p_type == PT_GNU_STACK)
        image_.has_executable_stack = (segment.p_flags & PF_X) != 0;
    }
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_DYNAMIC) BYOC_TRY_STATUS(read_dynamic(segment));
    }
    if (table_of(DT_STRTAB) == 0) return invalid("an ELF file without a dynamic section");
    BYOC_TRY_STATUS(read_names());
    BYOC_TRY_STATUS(read_symbols());
    read_sections(header);
    return std::move(image_);
  }

 private:
  template <class T>
  Result<T> at(uint64_t offset) const {
    auto value = file_.at<T>(offset);
    if (!value) return invalid("an ELF file that is cut short");
    return *value;
  }
  /// Returns the offset in the file of the byte that is loaded at `address`; UINT64_MAX: none.
  uint64_t offset_of(uint64_t address) const {
    for (const Elf64_Phdr& s : segments_) {
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
        return address - s.p_vaddr + s.p_offset;
    }
    return UINT64_MAX;
  }
  template <class T>
  Result<T> at_address(uint64_t address) const {
    return at<T>(offset_of(address));
  }
  Result<std::string> text_at(uint64_t offset) const {
    constexpr uint64_t kMostAtOnce = 256;
    std::string text;
    while (offset < file_.size()) {
      std::string part(std::min(kMostAtOnce, file_.size() - offset), '\0');
      if (!file_.read(offset, std::as_writable_bytes(std::span(part)))) break;
      const size_t end = part.find('\0');
      text += part.substr(0, end);
      if (end != std::string::npos) return text;
      offset += part.size();
    }
    return invalid("an ELF file that is cut short");
  }
  /// Returns a name from the dynamic string table.
  Result<std::string> name(uint64_t index) const {
    return text_at(offset_of(table_of(DT_STRTAB)) + index);
  }
  uint64_t table_of(int64_t tag) const {
    auto found = std::find_if(dynamic_.begin(), dynamic_.end(),
                              [&](const Elf64_Dyn& entry) { return entry.d_tag == tag; });
    return found == dynamic_.end() ? 0 : found->d_un.d_ptr;
  }

  Status read_dynamic(const Elf64_Phdr& segment) {
    for (uint64_t k = 0; k < segment.p_filesz / sizeof(Elf64_Dyn); ++k) {
      BYOC_TRY(auto entry, at<Elf64_Dyn>(segment.p_offset + k * sizeof(Elf64_Dyn)));
      if (entry.d_tag == DT_NULL) break;
      dynamic_.push_back(entry);
    }
    return {};
  }

  Status read_names() {
    for (const Elf64_Dyn& entry : dynamic_) {
      if (entry.d_tag == DT_TEXTREL) image_.has_text_relocations = true;
      if (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL))
        image_.has_text_relocations = true;
      if (entry.d_tag == DT_NEEDED) {
        BYOC_TRY(std::string library, name(entry.d_un.d_val));
        image_.needed.push_back(std::move(library));
      }
      if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) {
        BYOC_TRY(std::string paths, name(entry.d_un.d_val));
        for (size_t from = 0; from <= paths.size();) {
          size_t to = std::min(paths.find(':', from), paths.size());
          image_.run_paths.push_back(paths.substr(from, to - from));
          from = to + 1;
        }
      }
    }
    return {};
  }

  /// Returns the number of dynamic symbols, from the hash table: the symbol table has no length.
  Result<uint64_t> symbol_count() const {
    if (uint64_t hash = table_of(DT_HASH)) {
      BYOC_TRY(auto count, at_address<uint32_t>(hash + 4));
      return uint64_t{count};
    }
    uint64_t hash = table_of(DT_GNU_HASH);
    if (hash == 0) return invalid("an ELF file without a hash table of its symbols");
    struct Header {
      uint32_t buckets, first, bloom_words, bloom_shift;
    };
    BYOC_TRY(auto header, at_address<Header>(hash));
    uint64_t buckets = hash + sizeof header + 8 * uint64_t{header.bloom_words};
    uint64_t chains = buckets + 4 * uint64_t{header.buckets};
    uint64_t last = 0;
    for (uint64_t k = 0; k < header.buckets; ++k) {
      BYOC_TRY(auto bucket, at_address<uint32_t>(buckets + 4 * k));
      last = std::max<uint64_t>(last, bucket);
    }
    if (last < header.first) return uint64_t{header.first};  // nothing is exported
    for (;; ++last) {
      BYOC_TRY(auto chain, at_address<uint32_t>(chains + 4 * (last - header.first)));
      if (chain & 1) return last + 1;
    }
  }

  Status read_symbols() {
    BYOC_TRY(uint64_t count, symbol_count());
    uint64_t table = table_of(DT_SYMTAB);
    for (uint64_t k = 1; k < count; ++k) {
      BYOC_TRY(auto raw, at_address<Elf64_Sym>(table + k * sizeof(Elf64_Sym)));
      unsigned binding = ELF64_ST_BIND(raw.st_info);
      if (binding == STB_LOCAL) continue;
      BYOC_TRY(std::string text, name(raw.st_name));
      image_.symbols.push_back({std::move(text), raw.st_shndx != SHN_UNDEF, binding == STB_WEAK,
                                binding == STB_GNU_UNIQUE});
    }
    return {};
  }

  /// Searches the sections, when they are not stripped, for a note that is in no segment.
  void read_sections(const Elf64_Ehdr& header) {
    auto section = [&](uint64_t k) {
      return at<Elf64_Shdr>(header.e_shoff + k * sizeof(Elf64_Shdr));
    };
    auto names = section(header.e_shstrndx);
    for (uint64_t k = 0; names.ok() && header.e_shoff != 0 && k < header.e_shnum; ++k) {
      auto one = section(k);
      auto text = one.ok() ? text_at(names->sh_offset + one->sh_name) : one.status();
      if (text.ok() && *text == ".note.byoc" && !(one->sh_flags & SHF_ALLOC))
        image_.has_loose_note = true;
    }
  }

  const ByteSource& file_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
  ElfImage image_;
};

}  // namespace

Result<ElfImage> read_elf(const std::string& path) {
  BYOC_TRY(ByteSource file, ByteSource::open(path));
  BYOC_TRY_STATUS(check_shared_object(file));
  return Reader(file).read();
}

}  // namespace byoc::conform
