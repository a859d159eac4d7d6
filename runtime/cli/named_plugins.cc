// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/named_plugins.h"

#include <filesystem>

namespace byoc::cli {

bool is_same_file(const std::string& path, const std::string& file) {
  std::error_code error;
  return path == file || std::filesystem::equivalent(path, file, error);
}

Status check_named_plugins(const PluginSet& plugins, const std::vector<std::string>& files) {
  for (const RefusedPlugin& refused : plugins.refused()) {
    for (const std::string& file : files) {
      if (!is_same_file(refused.path, file)) continue;
      return failed(cat("--plugin ", file, " cannot be used: ", refused.reason))
          .with_slug("plugin-refused")
          .with_help(refused.help.empty() ? cat("byoc check-plugin ", file) : refused.help);
    }
  }
  return {};
}

}  // namespace byoc::cli
