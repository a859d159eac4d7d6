// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/session.h"
#include "runtime/cli/command.h"

namespace byoc::cli {

/// The flags of isolation.
struct IsolationFlags {
  bool all = false;              // --isolate
  std::vector<std::string> ids;  // --isolate-plugin, which may hold lists "A,B"
  uint32_t seconds = 60;         // --isolate-time
  std::string memory;            // --isolate-memory
};
/// Adds them to a command; they point into `flags`.
void add_isolation_options(Command& command, IsolationFlags& flags);
/// Adds what they request to `to`, which may have ids of the environment. Errors: slug "usage".
Status read_isolation(const IsolationFlags& flags, Isolation& to);

/// Reads a number of bytes: "4096", "64K", "512M", "8G", also with "iB" or "B" after the letter;
/// "": 0. Errors: slug "usage", naming `flag`.
Result<uint64_t> parse_byte_size(const std::string& text, const char* flag);

/// Returns whether `path`, as a PluginSet reports it, is the file that the user named `file`.
bool is_same_file(const std::string& path, const std::string& file);

/// Returns an error when one of `files`, the arguments of --plugin, was refused: another plugin
/// would do its work, and the user would take the result for that of the named plugin. Errors: slug
/// "plugin-refused", with the reason and the cure.
Status check_named_plugins(const PluginSet& plugins, const std::vector<std::string>& files);

/// Returns an error for an id of --isolate-plugin that no plugin has: the plugin that is meant
/// would run in this process. One that `plugins` was not to open counts, too. Errors: slug
/// "unknown-plugin", with the nearest id and the ids found.
Status check_isolated_plugins(const PluginSet& plugins, const IsolationFlags& flags);

/// Adds an argument of --plugin-option, "onednn.keep_nan=1", to the options of its plugin. Errors:
/// slug "usage".
Status add_plugin_option(const std::string& text, PluginSearch& search);

}  // namespace byoc::cli
