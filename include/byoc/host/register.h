// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plugins that are a part of the program.
#include "byoc/base/status.h"
#include "byoc/plugin/abi.h"

namespace byoc {

/// Adds a plugin by its table, which its entry would give; it lives until the process ends. Every
/// PluginSet that is loaded later has it, before plugins in files; a file with its id is refused.
/// Thread-safe. Errors: what is wrong with the table; kAlreadyExists for an id that is registered.
Status register_plugin(const byoc_plugin* table);

}  // namespace byoc
