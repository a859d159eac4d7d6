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
cli::Command report_command(const cli::CommonOptions& common);
cli::Command inspect_command(const cli::CommonOptions& common);
cli::Command join_command(const cli::CommonOptions& common);
cli::Command error_command(const cli::CommonOptions& common);
cli::Command place_command(const cli::CommonOptions& common);
cli::Command calibrate_command(const cli::CommonOptions& common);
cli::Command tune_command(const cli::CommonOptions& common);
/// The child processes of `byoc tune`; not among the commands that help lists.
cli::Command tune_worker_command();
cli::Command cache_command(const cli::CommonOptions& common);
cli::Command doctor_command(const cli::CommonOptions& common);
cli::Command new_plugin_command(const cli::CommonOptions& common);

/// Makes the command `byoc` with all of the above; `common` receives --json and the other options
/// of every command.
cli::Command byoc_command(cli::CommonOptions& common);

}  // namespace byoc::driver
