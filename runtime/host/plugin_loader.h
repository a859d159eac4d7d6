// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a path to a plugin's checked table. Every check that can be made without running anything of
// the file's comes first. Errors carry the reason as message and the cure as help, as `byoc
// plugins` shows them.
#include <map>
#include <string>

#include "byoc/plugin/abi.h"
#include "runtime/host/plugin_manifest.h"

namespace byoc {

/// A regular file, which nobody but its owner may change, the owner being root or the caller.
Status check_plugin_file(const std::string& path);
/// Its part about the owner; user ids.
Status check_owner(const std::string& path, uint32_t owner, uint32_t caller);

/// The manifest of a file that this byoc may load; `seen` is filled as soon as it could be read.
Result<PluginManifest> inspect_plugin(const std::string& path, PluginManifest& seen);

/// The parts of what makes a table usable, in the order in which they are checked.
Status check_table_header(const byoc_plugin* raw);
Status check_table_abi(const byoc_plugin& table, const PluginManifest& manifest);
Status check_table_slots(const byoc_plugin& table);
Status check_table_identity(const byoc_plugin& table, const PluginManifest& manifest);
/// Of a table with a good header: zeros for fields that the plugin is too old to know.
byoc_plugin copy_table(const byoc_plugin& raw);

/// Loads the file for good and asks for its table, which must fit `manifest`. What comes back is a
/// copy, with zeros for fields that the plugin is too old to know.
Result<byoc_plugin> load_plugin_table(const std::string& path, const PluginManifest& manifest);

}  // namespace byoc
