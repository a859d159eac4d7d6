// SPDX-License-Identifier: Apache-2.0
#pragma once
// The libraries that a plugin names, opened as the loader would find them for it. For children.
#include <string>

namespace byoc::conform {

/// $ORIGIN of a plugin at `path`, for open_needed.
void enter_folder_of(const std::string& path);
/// From beside the plugin, or from where the system has it; nullptr and dlerror() when it is not
/// there.
void* open_needed(const std::string& library);

}  // namespace byoc::conform
