// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/session.h"

namespace byoc::cli {

/// Returns whether `path`, as a PluginSet reports it, is the file that the user named `file`.
bool is_same_file(const std::string& path, const std::string& file);

/// Returns an error when one of `files`, the arguments of --plugin, was refused: another plugin
/// would do its work, and the user would take the result for that of the named plugin. Errors: slug
/// "plugin-refused", with the reason and the cure.
Status check_named_plugins(const PluginSet& plugins, const std::vector<std::string>& files);

/// Adds an argument of --plugin-option, "onednn.keep_nan=1", to the options of its plugin. Errors:
/// slug "usage".
Status add_plugin_option(const std::string& text, PluginSearch& search);

}  // namespace byoc::cli
