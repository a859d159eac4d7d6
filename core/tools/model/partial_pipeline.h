#pragma once
// Pieces of the pipeline that commands run by themselves, cut at a pass's name.
#include "byoc/pass/pass.h"

namespace byoc::driver {

/// The whole pipeline: partition_pipeline, then codegen_pipeline.
std::vector<Pass> whole_pipeline(const PassContext& context);
/// Up to and with the last pass of that name. Errors: kNotFound, slug "unknown-pass", with the
/// nearest.
Result<std::vector<Pass>> passes_until(const std::string& name, const PassContext& context);
/// What passes_until leaves.
std::vector<Pass> passes_behind(const std::string& name, const PassContext& context);

}  // namespace byoc::driver
