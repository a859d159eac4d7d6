// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options and answers of `byoc explain`.
#include "byoc/base/json.h"
#include "support/paths.h"

namespace byoc::test {

/// Returns the option that adds one of the tests' plugins.
inline std::string plugin_file(const char* id) {
  return cat(" --plugin ", BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_", id, ".so");
}

/// Returns the opinion of `plugin` about the op of that name, as "verdict: reason".
inline std::string opinion(const Json& explained, const std::string& name,
                           const std::string& plugin) {
  for (const Json& op : explained["ops"]) {
    for (const Json& entry : op["opinions"]) {
      if (op["name"] == name && entry["plugin"] == plugin)
        return entry["verdict"].get<std::string>() + ": " + entry["reason"].get<std::string>();
    }
  }
  return "";
}

}  // namespace byoc::test
