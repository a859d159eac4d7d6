// SPDX-License-Identifier: Apache-2.0
// The plugins and the environment.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "byoc/base/env.h"
#include "byoc/base/nearest.h"
#include "core/tools/doctor/examination.h"

extern char** environ;

namespace byoc::driver {
namespace {

/// Variables of other programs' making that byoc reads as well.
constexpr EnvVariable kCommon[] = {
    {"XDG_CACHE_HOME", "", "the folder of all caches; default ~/.cache"},
    {"TMPDIR", "", "the folder of temporary files; default /tmp"},
    {"NO_COLOR", "", "no colours"},
    {"CLICOLOR_FORCE", "", "colours even where the output is no terminal"},
};

/// Returns the variables of this process that begin with "BYOC_", sorted.
std::vector<std::string> own_variables() {
  std::vector<std::string> out;
  for (char** at = environ; at && *at; ++at) {
    std::string_view text = *at;
    if (text.starts_with("BYOC_")) out.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void check_plugin_path(std::vector<Finding>& findings) {
  std::string text = env_value("BYOC_PLUGIN_PATH");
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(':', begin), text.size());
    std::string folder = text.substr(begin, end - begin);
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      findings.push_back({Finding::kProblem, "environment",
                          cat("BYOC_PLUGIN_PATH names ", folder, ", which is no folder"),
                          "correct it or leave it out"});
    }
    begin = end + 1;
  }
}

}  // namespace

std::vector<SetVariable> examine_environment(std::vector<Finding>& findings) {
  std::vector<SetVariable> out;
  std::vector<std::string> known;
  auto add = [&](const EnvVariable& variable) {
    std::string name(variable.name);
    const char* value = std::getenv(name.c_str());
    if (value) out.push_back({name, value, std::string(variable.doc)});
    known.push_back(std::move(name));
  };
  for (const EnvVariable& variable : env_variables()) add(variable);
  for (const EnvVariable& variable : kCommon) add(variable);
  for (const std::string& name : own_variables()) {
    if (std::count(known.begin(), known.end(), name)) continue;
    findings.push_back({Finding::kWarning, "environment",
                        cat("byoc reads no variable ", name, did_you_mean(name, known)),
                        cat("unset ", name)});
  }
  check_plugin_path(findings);
  return out;
}

void examine_plugins(const PluginSet& plugins, std::vector<Finding>& findings) {
  for (const RefusedPlugin& refused : plugins.refused()) {
    std::string name = refused.id.empty() ? "" : cat(refused.id, " ", refused.version, ", ");
    findings.push_back({Finding::kProblem, "plugins",
                        cat("the plugin ", name, refused.path, " is refused: ", refused.reason),
                        refused.help});
  }
  auto all = plugins.all();
  bool has_default = std::any_of(all.begin(), all.end(),
                                 [](const auto& plugin) { return plugin->is_default_codegen(); });
  if (has_default) return;
  findings.push_back(
      {Finding::kProblem, "plugins",
       all.empty() ? "no usable plugin was found"
                   : "no plugin takes what the others refuse (none has the flag default)",
       "byoc plugins lists the folders that are searched; install byoc's plugins there"});
}

}  // namespace byoc::driver
