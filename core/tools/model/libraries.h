// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// Loads the libraries of --pass-library, each once in the process (byoc/extend/library.h).
Status load_libraries(const ModelOptions& options);

}  // namespace byoc::driver
