// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared libraries of NVIDIA that may be absent, opened by name and version while the program runs.
#include <string>
#include <vector>

namespace byoc::cuda {

/// A library, with the names of its versions, newest first, and what installs it.
struct Wanted {
  std::string name;
  std::vector<std::string> files;
  std::string cure;
};

/// Opens one of the files, or the file that the user names: `option` is "auto", "none" or a path.
/// Returns null, and the reason with the cure, where there is none. A library stays open.
void* open_library(const Wanted& wanted, const std::string& option, std::string& why);
/// Returns the address of an entry point; null, and the reason, where the library has none.
void* entry_point(void* library, const char* name, const Wanted& wanted, std::string& why);

}  // namespace byoc::cuda
