// SPDX-License-Identifier: Apache-2.0
#pragma once
// byoc bench --ops: the operators of ONNX beside ONNX Runtime.
#include "byoc/bench.h"
#include "core/tools/model/model_options.h"
#include "runtime/cli/command.h"

namespace byoc::driver {

/// The flags that bench has for --ops only.
struct OpsFlags {
  std::optional<std::string> ops;  // "-": all
  std::string python, table;
};

/// Adds --ops, --python and --table.
void add_ops_options(cli::Command& command, OpsFlags& flags);
/// Returns the error for flags that have a meaning with --ops only, when it is not given.
Status check_no_ops(const OpsFlags& flags);
/// Measures and prints. Returns 1 when a result is wrong, 130 after Ctrl-C. Errors: slug "usage"
/// for options that --ops does not have; those of bench_ops.
Result<int> run_bench_ops(const OpsFlags& flags, const ModelOptions& model,
                          const BenchOptions& bench, const cli::CommonOptions& common);

}  // namespace byoc::driver
