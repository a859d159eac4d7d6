// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every environment variable byoc reads, in one table. Flags beat these, these beat defaults.
#include <span>
#include <string>
#include <string_view>

namespace byoc {

struct EnvVariable {
  std::string_view name, fallback, doc;
};
std::span<const EnvVariable> env_variables();
/// The value, or the table's fallback when unset. `name` must stand in the table.
std::string env_value(std::string_view name);
bool env_is_set(std::string_view name);

}  // namespace byoc
