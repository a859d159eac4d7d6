// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc print`.
#include "byoc/te/tensor.h"
#include "core/tools/model/model_options.h"
#include "core/tools/sizes/open_ranges.h"

namespace byoc::driver {

/// Returns the module as imported, or after a pass of the pipeline, before which open sizes without
/// bounds get a range, as `byoc compile` gives them. Errors: there is no such pass; the module has
/// no function `function`, slug "unknown-function". An empty name is not looked up.
Result<RangedModel> module_after(const ModelOptions& options, const std::string& pass,
                                 const std::string& function);

/// A function with the tensor expressions of its stages.
struct FunctionDag {
  Symbol function;
  te::Dag dag;
};
/// Returns those of the functions that plugins compile, of the whole model before it is
/// partitioned, or of `function` only. Errors: an op has none; sizes are open, with the flags that
/// set them.
Result<std::vector<FunctionDag>> dags_after(const IRModule& module, const ModelOptions& options,
                                            const std::string& function);

}  // namespace byoc::driver
