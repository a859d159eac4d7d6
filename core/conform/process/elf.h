// SPDX-License-Identifier: Apache-2.0
#pragma once
// Properties of a shared object, read from its program headers, which `strip` does not remove.
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::conform {

struct ElfSymbol {
  std::string name;
  bool is_defined = false, is_weak = false, is_unique = false;
};

struct ElfImage {
  std::vector<std::string> needed, run_paths;
  std::vector<ElfSymbol> symbols;  // dynamic, global or weak
  bool has_text_relocations = false, has_executable_stack = true;
  bool has_loose_note = false;  // a section .note.byoc that is in no segment
};

/// Reads the file. Errors: kInvalidArgument when it is not an ELF shared object of this machine, or
/// is cut short.
Result<ElfImage> read_elf(const std::string& path);

}  // namespace byoc::conform
