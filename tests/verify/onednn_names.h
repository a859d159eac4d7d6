// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of implementations that the onednn plugin reports for what it compiled.
#include <algorithm>
#include <string>
#include <vector>

#include "byoc/compile.h"
#include "plugins/onednn/library/implementations.h"

namespace byoc::test {

/// Returns the names in "jit:avx2 x2, reorder": "jit:avx2" and "reorder".
inline std::vector<std::string> names_in(const std::string& list) {
  constexpr std::string_view kComma = ", ", kTimes = " x";
  std::vector<std::string> out;
  for (size_t at = 0, end; at < list.size(); at = end + kComma.size()) {
    end = std::min(list.find(kComma, at), list.size());
    std::string name = list.substr(at, end - at);
    out.push_back(name.substr(0, name.find(kTimes)));
  }
  return out;
}

/// Returns the names in all of onednn's functions.
inline std::vector<std::string> onednn_names(const Executable& executable) {
  std::vector<std::string> out;
  for (const ExternalModule& module : executable.modules) {
    if (module.plugin != "onednn") continue;
    for (const ExternalFunction& function : module.functions) {
      for (std::string& name : names_in(function.implementation)) out.push_back(std::move(name));
    }
  }
  return out;
}

/// Returns those names that library/implementations.h does not have: none, with a oneDNN that it
/// was written for.
inline std::vector<std::string> unknown_names(const Executable& executable) {
  std::vector<std::string> out;
  for (std::string& name : onednn_names(executable)) {
    if (!onednn::is_known(name)) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace byoc::test
