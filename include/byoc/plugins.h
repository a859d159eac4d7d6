// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugins that byoc finds, and the state of the installation.
#include <cstdint>
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc {

/// Plugins beside the installed ones, and their options.
struct PluginRequest {
  std::vector<std::string> files;    ///< as --plugin
  std::vector<std::string> options;  ///< as --plugin-option, "llvm.cache=0"
};

enum class PluginState : uint8_t {
  kUsable,
  kNotOpened,  ///< its priority is below 0: it is opened when it is named
  kRefused,
  kNotBuilt,  ///< a library was missing when byoc was built
};
/// Returns "usable", "not opened", "refused" or "not built".
std::string_view state_name(PluginState state);

struct ListedPlugin {
  std::string id, version;  ///< empty where the file could not be read
  std::string path;         ///< of the library; "" of plugins that were not built
  PluginState state = PluginState::kUsable;
  std::string reason, help;  ///< of those that are refused or not built
};

struct PluginList {
  std::vector<ListedPlugin> plugins;
  std::vector<std::string> order;     ///< in which they are offered ops
  std::vector<std::string> defaults;  ///< those that take the rest
  std::string json;                   ///< what `byoc plugins --json` prints
};

/// Searches for plugins. A file that was not tried before is tried in a child process. Thread-safe.
/// Errors: slug "plugin-option". A plugin that is refused is a result, also when it was named.
Result<PluginList> list_plugins(const PluginRequest& request = {});

struct InstallationFinding {
  bool is_problem = false;  ///< something does not work; false: a warning
  std::string topic;        ///< "plugins", "openmp", "caches", "space", "environment"
  std::string what, cure;
};

struct Installation {
  std::vector<InstallationFinding> findings;
  std::string json;  ///< what `byoc doctor --json` prints
};

/// Looks at plugins, machine, caches and environment. Less than `min_free_mib` of free space is a
/// finding. Errors: those of list_plugins.
Result<Installation> examine_installation(const PluginRequest& request = {},
                                          uint64_t min_free_mib = 1024);

}  // namespace byoc
