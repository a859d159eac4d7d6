// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// Loads the libraries of --pass-library, each once in the process (byoc/extend/library.h).
Status load_libraries(const ModelOptions& options);
/// Adds --pass-library to a command that reads no model, and loads the files that it gives.
void add_library_option(cli::Command& command, std::vector<std::string>& files);
Status load_libraries(const std::vector<std::string>& files);  // see add_library_option

}  // namespace byoc::driver
