// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns a path into a plugin's checked table. Checks that run no code of the file come first.
// Errors carry the reason as message and the cure as help, as `byoc plugins` shows them.
#include <map>
#include <string>

#include "byoc/plugin/abi.h"
#include "runtime/plugin_file/plugin_manifest.h"

namespace byoc {

/// Checks that the path is a regular file which only its owner may change, the owner being root or
/// the caller.
Status check_plugin_file(const std::string& path);
/// Checks the owner alone; user ids.
Status check_owner(const std::string& path, uint32_t owner, uint32_t caller);

/// Reads the manifest of a file that this byoc may load; `seen` is filled as soon as it
/// could be read.
Result<PluginManifest> inspect_plugin(const std::string& path, PluginManifest& seen);
/// `stamp` is the state of the file when it was read.
Result<PluginManifest> inspect_plugin(const std::string& path, PluginManifest& seen,
                                      FileStamp& stamp);

/// Check a table in parts, in this order.
Status check_table_header(const byoc_plugin* raw);
Status check_table_abi(const byoc_plugin& table, const PluginManifest& manifest);
Status check_table_slots(const byoc_plugin& table);
Status check_device_table(const byoc_plugin& table);
Status check_table_identity(const byoc_plugin& table, const PluginManifest& manifest);
/// Copies a table with a good header; fields that the plugin is too old to have are zero.
byoc_plugin copy_table(const byoc_plugin& raw);

/// Loads the file for good and gets its table, which must fit `manifest`. Returns a copy, with
/// zeros for fields that the plugin is too old to have.
Result<byoc_plugin> load_plugin_table(const std::string& path, const PluginManifest& manifest);
/// The two halves of it: loads the file, which runs its static constructors; calls its entry.
Result<byoc_plugin_entry_fn> load_plugin_entry(const std::string& path,
                                               const PluginManifest& manifest);
Result<byoc_plugin> table_of_entry(byoc_plugin_entry_fn entry, const PluginManifest& manifest);

/// Returns whether a loaded plugin, or a library that it needs, has OpenMP code.
bool uses_openmp(const std::string& path);

}  // namespace byoc
