// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a plugin came from.
#include <string>

#include "byoc/host/plugins.h"

namespace byoc::driver {

struct PluginOrigin {
  enum Kind {
    kProgram,       // registered by this process
    kOption,        // --plugin
    kWheel,         // a file of an installed Python package
    kEnvironment,   // a folder of BYOC_PLUGIN_PATH
    kInstallation,  // a folder of byoc's own
  };
  Kind kind = kInstallation;
  std::string folder;            // that was searched; empty: kProgram, kOption
  std::string package, version;  // of kWheel
  std::string entry_point;       // of kWheel, in the group byoc.plugins; empty: it has none
};

/// Returns "program", "option", "wheel", "environment" or "installation".
std::string_view kind_name(PluginOrigin::Kind kind);

/// Returns where the plugin with that id and file came from. Reads the records of Python packages
/// in the folders above the file, as pip wrote them; costs O(packages there).
PluginOrigin origin_of(const PluginSet& plugins, const std::string& id, const std::string& path);

/// Returns one line: "wheel byoc-plugin-mine 0.1.0, entry point mine".
std::string origin_text(const PluginOrigin& origin);

}  // namespace byoc::driver
