// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of `byoc-run`, for the program and for its manual page.
#include <string>
#include <vector>

#include "runtime/cli/run.h"

namespace byoc::cli {

struct ProgramFlags {
  std::string artifact;
  std::vector<std::string> plugins, plugin_options, shapes;
  bool no_native = false;
  uint32_t threads = 1;
  RunFlags run;
  CommonOptions common;
};

/// Returns the command, whose options point into `flags`.
Command program_command(ProgramFlags& flags);

}  // namespace byoc::cli
