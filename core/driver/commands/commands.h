// SPDX-License-Identifier: Apache-2.0
#pragma once
// Each function makes one command and is in the file of that name. A command owns its options;
// `common` must outlive it.
#include "runtime/cli/command.h"

namespace byoc::driver {

cli::Command plugins_command(const cli::CommonOptions& common);
cli::Command check_plugin_command(const cli::CommonOptions& common);
cli::Command ops_command(const cli::CommonOptions& common);
cli::Command opt_command(const cli::CommonOptions& common);
cli::Command print_command(const cli::CommonOptions& common);
cli::Command partition_command(const cli::CommonOptions& common);
cli::Command explain_command(const cli::CommonOptions& common);
cli::Command compile_command(const cli::CommonOptions& common);
cli::Command run_command(const cli::CommonOptions& common);
cli::Command bench_command(const cli::CommonOptions& common);
cli::Command verify_command(const cli::CommonOptions& common);
cli::Command dump_command(const cli::CommonOptions& common);
cli::Command replay_command(const cli::CommonOptions& common);
cli::Command test_onnx_command(const cli::CommonOptions& common);
cli::Command demo_command(const cli::CommonOptions& common);

}  // namespace byoc::driver
