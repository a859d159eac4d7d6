// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/named_plugins.h"

#include <filesystem>

#include "runtime/cli/command.h"

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

Status add_plugin_option(const std::string& text, PluginSearch& search) {
  size_t dot = text.find('.'), equals = text.find('=');
  if (dot == 0 || dot == text.npos || equals == text.npos || equals <= dot + 1) {
    return usage_error(cat("--plugin-option expects PLUGIN.NAME=VALUE, not \"", text, "\""));
  }
  search.options[text.substr(0, dot)][text.substr(dot + 1, equals - dot - 1)] =
      text.substr(equals + 1);
  return {};
}

}  // namespace byoc::cli
