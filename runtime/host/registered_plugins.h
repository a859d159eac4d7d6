// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of register_plugin.
#include <string>
#include <vector>

#include "byoc/plugin/abi.h"

namespace byoc {

struct RegisteredPlugin {
  byoc_plugin table;  // with zeros for fields that the plugin is too old to have
  std::string id, version;
  std::string path;  // the file that has the code of the table; the program when it is in none
};

/// Returns copies, in the order of registration. Thread-safe.
std::vector<RegisteredPlugin> registered_plugins();

}  // namespace byoc
