// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/library/opened.h"

#include <dlfcn.h>

namespace byoc::cuda {

void* open_library(const Wanted& wanted, const std::string& option, std::string& why) {
  if (option == "none") {
    why = wanted.name + " is not used: its option is none";
    return nullptr;
  }
  const std::vector<std::string> files = option == "auto" ? wanted.files : std::vector{option};
  std::string tried;
  for (const std::string& file : files) {
    if (void* out = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); out != nullptr) return out;
    tried += (tried.empty() ? "" : ", ") + file;
  }
  why = wanted.name + " cannot be opened (" + tried + "): " + wanted.cure;
  return nullptr;
}

void* entry_point(void* library, const char* name, const Wanted& wanted, std::string& why) {
  void* out = ::dlsym(library, name);
  if (out == nullptr && why.empty()) why = wanted.name + " has no " + name + ": " + wanted.cure;
  return out;
}

}  // namespace byoc::cuda
