// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every environment variable byoc reads, in one table. A flag overrides the variable, and the
// variable overrides the default.
#include <span>
#include <string>
#include <string_view>

namespace byoc {

/// A variable of the environment that byoc reads.
struct EnvVariable {
  /// The name, the value when it is unset, a sentence for help.
  std::string_view name, fallback, doc;
};
std::span<const EnvVariable> env_variables();  ///< Returns the table of all variables.
/// Returns the value, or the table's fallback when unset. `name` must be in the table.
std::string env_value(std::string_view name);
/// Returns true when the variable is set, also to an empty text.
bool env_is_set(std::string_view name);
/// Returns byoc's cache folder: $XDG_CACHE_HOME/byoc, else ~/.cache/byoc; "" when neither variable
/// has an absolute path, or the process is set-user-id or set-group-id.
std::string user_cache_folder();

}  // namespace byoc
