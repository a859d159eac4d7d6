// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/base/memory.h"
#include "byoc/model.h"
#include "core/tools/model/model_options.h"

namespace byoc {
struct WorkLimits;
}

namespace byoc::driver {

/// Returns the request as the tools have it, with room for what tuning logs are used for.
ModelOptions options_of(const ModelRequest& request);

/// Lets large constants be in files of the cache folder (or of that for temporary files) while a
/// model is compiled and run here, without those that runs read: their pages stay in memory.
SpillScope spill_for_runs();

/// Returns the limits of reading, compiling and loading (runtime/limits). Errors: slug "usage".
Result<WorkLimits> limits_of(const ModelOptions& options);

/// Returns a function for work that reports its progress, which returns false when the request is
/// cancelled. `request` must outlive it.
std::function<bool(std::string_view what, uint64_t done, uint64_t total)> watch_of(
    const ModelRequest& request);

}  // namespace byoc::driver
