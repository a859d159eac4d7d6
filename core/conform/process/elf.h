// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a shared object says of itself, read from its program headers alone: all that survives
// `strip`.
#include <span>
#include <string>
#include <vector>

#include "byoc/base/file.h"

namespace byoc::conform {

struct ElfSymbol {
  std::string name;
  bool is_defined = false, is_weak = false, is_unique = false;
};

struct ElfImage {
  std::shared_ptr<const MappedFile> file;
  std::vector<std::string> needed, run_paths;
  std::vector<ElfSymbol> symbols;  // dynamic, global or weak
  bool has_text_relocations = false, has_executable_stack = true;
  bool has_loose_note = false;  // a section .note.byoc that is in no segment
};

/// Errors: kInvalidArgument for what is no ELF shared object of this machine, or is cut short.
Result<ElfImage> read_elf(const std::string& path);

}  // namespace byoc::conform
