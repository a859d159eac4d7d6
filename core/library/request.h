// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/model.h"
#include "core/tools/model/model_options.h"

namespace byoc {
struct WorkLimits;
}

namespace byoc::driver {

/// Returns the request as the tools have it, with room for what tuning logs are used for.
ModelOptions options_of(const ModelRequest& request);

/// Returns the limits of reading, compiling and loading (runtime/limits). Errors: slug "usage".
Result<WorkLimits> limits_of(const ModelOptions& options);

/// Returns a function for work that reports its progress, which returns false when the request is
/// cancelled. `request` must outlive it.
std::function<bool(std::string_view what, uint64_t done, uint64_t total)> watch_of(
    const ModelRequest& request);

}  // namespace byoc::driver
