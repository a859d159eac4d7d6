// SPDX-License-Identifier: Apache-2.0
#include "core/conform/process/needed.h"

#include <dlfcn.h>

#include <filesystem>

namespace byoc::conform {
namespace {
std::string& folder() {
  static std::string& folder = *new std::string;
  return folder;
}
}  // namespace

void enter_folder_of(const std::string& path) {
  folder() = std::filesystem::path(path).parent_path().string();
}

void* open_needed(const std::string& library) {
  std::string beside = folder() + "/" + library;
  std::error_code error;
  bool is_beside = std::filesystem::exists(beside, error);
  return dlopen(is_beside ? beside.c_str() : library.c_str(), RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace byoc::conform
