// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc compile`.
#include "byoc/runtime/sizes.h"
#include "core/tools/model/model_options.h"

namespace byoc::driver {

struct CompiledModel {
  std::vector<SizedExecutable> sizes;
  std::vector<std::string> ranges;  // of sizes that --shape leaves open, as it has them
  Report report;
  double compile_ns = 0;  // without reading and measuring
  std::shared_ptr<const PluginSet> plugins;
};

/// Calls for each size; all may be empty.
struct CompileHooks {
  std::function<Status(const IRModule&, const BuildOptions&)> imported;    // before it is compiled
  std::function<Result<Executable>(IRModule, const BuildOptions&)> build;  // empty: byoc::build
};

/// Compiles the model of `options` once for each choice of sizes in --shape; weights are in memory
/// once. Sizes that have no number and no range there are open (open_ranges.h).
/// No part of the result is loaded in this process.
Result<CompiledModel> compile_file(const ModelOptions& options, const CompileHooks& hooks);

}  // namespace byoc::driver
