// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/store/build_id.h"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace byoc::llvm_plugin {
namespace {

struct Search {
  uintptr_t address = 0;
  std::string id;
};

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (unsigned char byte : bytes) out.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return out;
}

/// Returns the build id among the notes of one PT_NOTE segment, or "".
std::string find_build_id(std::string_view notes, uint64_t align) {
  align = align == 8 ? 8 : 4;  // man 5 elf: 4 where p_align is 0 or 1
  auto round_up = [&](uint64_t n) { return (n + align - 1) / align * align; };
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const uint64_t text = round_up(sizeof note + uint64_t{note.n_namesz});
    const uint64_t end = text + note.n_descsz;
    if (end > notes.size()) return "";
    constexpr std::string_view kGnu("GNU", 4);  // with its 0
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof note, note.n_namesz) == kGnu)
      return to_hex(notes.substr(text, note.n_descsz));
    notes.remove_prefix(std::min<uint64_t>(round_up(end), notes.size()));
  }
  return "";
}

int visit(dl_phdr_info* info, size_t, void* u) {
  Search& search = *static_cast<Search*>(u);
  const std::span<const ElfW(Phdr)> segments(info->dlpi_phdr, info->dlpi_phnum);
  auto contains = [&](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD &&
           search.address - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  };
  if (std::none_of(segments.begin(), segments.end(), contains)) return 0;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    search.id = find_build_id({notes, segment.p_memsz}, segment.p_align);
    if (!search.id.empty()) break;
  }
  return 1;  // the last object to be visited
}

}  // namespace

std::string build_id_at(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  ::dl_iterate_phdr(visit, &search);
  return search.id;
}

}  // namespace byoc::llvm_plugin
