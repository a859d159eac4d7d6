// SPDX-License-Identifier: Apache-2.0
// `byoc-run`: the runtime alone. It requires only its executable, the plugins that compiled the
// artifact, and the artifact.
#include "byoc/host/plugins.h"
#include "runtime/program/program.h"
#include "runtime/threads/wait_policy.h"

int main(int argc, char** argv) {
  byoc::sleep_beside_others(argv);
  byoc::cli::ProgramFlags flags;
  byoc::cli::Command root = byoc::cli::program_command(flags);
  int code = byoc::cli::run_command_line(root, flags.common, argc, argv);
  byoc::shutdown_plugins();
  return code;
}
