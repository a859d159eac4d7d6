// SPDX-License-Identifier: Apache-2.0
// `byoc-run`: the runtime alone. It requires only its executable, the plugins that compiled the
// artifact, and the artifact.
#include <string_view>

#include "byoc/host/plugins.h"
#include "runtime/isolate/process.h"
#include "runtime/isolate/server/serve.h"
#include "runtime/program/program.h"
#include "runtime/threads/wait_policy.h"

int main(int argc, char** argv) {
  // a process of another byoc, see runtime/isolate; no command for people
  if (argc == 2 && std::string_view(argv[1]) == byoc::isolate::kServeFlag)
    return byoc::isolate::serve_plugin();
  byoc::sleep_beside_others(argv);
  byoc::cli::ProgramFlags flags;
  byoc::cli::Command root = byoc::cli::program_command(flags);
  int code = byoc::cli::run_command_line(root, flags.common, argc, argv);
  byoc::shutdown_plugins();
  return code;
}
