// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits the pipeline at one pass, for commands that run the two parts separately.
#include "byoc/pass/pass.h"

namespace byoc::driver {

/// Returns partition_pipeline followed by codegen_pipeline.
std::vector<Pass> whole_pipeline(const PassContext& context);
/// Returns the pipeline up to the last pass of that name, included. Errors: kNotFound, slug
/// "unknown-pass", with the nearest name.
Result<std::vector<Pass>> passes_until(const std::string& name, const PassContext& context);
/// Returns the passes after those of passes_until.
std::vector<Pass> passes_after(const std::string& name, const PassContext& context);

}  // namespace byoc::driver
