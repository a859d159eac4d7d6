// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of `byoc-run`, for the program and for its manual page.
#include <string>
#include <vector>

#include "runtime/cli/named_plugins.h"
#include "runtime/cli/run.h"

namespace byoc::cli {

struct ProgramFlags {
  std::string artifact, entry;
  std::vector<std::string> plugins, plugin_options, shapes;
  IsolationFlags isolation;
  std::string max_memory;
  uint32_t time_limit = 0;
  bool no_native = false, check = false;
  uint32_t threads = 1;
  RunFlags run;
  CommonOptions common;
};

/// Returns the command, whose options point into `flags`.
Command program_command(ProgramFlags& flags);

}  // namespace byoc::cli
