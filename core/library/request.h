// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/model.h"
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// Returns the request as the tools have it, with room for what tuning logs are used for.
ModelOptions options_of(const ModelRequest& request);

}  // namespace byoc::driver
