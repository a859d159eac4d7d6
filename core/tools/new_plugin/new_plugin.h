// SPDX-License-Identifier: Apache-2.0
#pragma once
// A new plugin: a copy of an example under another name.
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::driver {

/// The examples to copy: a plugin in C++ or in C, a default codegen in C++, and a plugin of a
/// device with memory of its own in C++.
enum class PluginTemplate { kCpp, kC, kDefault, kDevice };

/// Checks that `name` can be the id of a new plugin: [a-z][a-z0-9_-]*, at most 64 characters, and
/// none of the plugins that come with byoc. Errors: slug "plugin-name".
Status check_plugin_name(const std::string& name);

struct NewFile {
  std::string name, text;  // name: relative to the plugin's folder
};
/// Returns the plugin's files, sorted by name: CMakeLists.txt, its source, README.md, and with
/// `with_wheel` the files that make a wheel for Python.
std::vector<NewFile> new_plugin_files(const std::string& name, PluginTemplate of,
                                      bool with_wheel = false);

/// Writes the files into `folder`, which it makes unless it exists and is empty; a failure leaves
/// nothing. Errors: slug "plugin-folder" when the folder holds files or is no folder; slug "file".
Status write_new_plugin(const std::string& folder, const std::vector<NewFile>& files);

}  // namespace byoc::driver
