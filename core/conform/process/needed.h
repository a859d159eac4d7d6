// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens the libraries that a plugin names, as the loader finds them. For child processes.
#include <string>

namespace byoc::conform {

/// Makes the folder of `path` the $ORIGIN that open_needed uses.
void enter_folder_of(const std::string& path);
/// Opens a library in the plugin's folder, else in the system's folders. Returns nullptr when it
/// cannot be loaded; dlerror() has the reason.
void* open_needed(const std::string& library);

}  // namespace byoc::conform
