// SPDX-License-Identifier: Apache-2.0
#include "core/driver/run_byoc.h"

#include <unistd.h>
#include <csignal>
#include <string_view>

#include "byoc/compile.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/interrupt.h"
#include "runtime/threads/wait_policy.h"

namespace byoc::driver {

int run_byoc(int argc, char** argv) {
  sleep_beside_others(argv);
  // BYOC_CHECK has printed the failed check; the exit code means a bug in byoc.
  std::signal(SIGABRT, [](int) { _exit(cli::kBug); });
  user_cancellation();  // from here on Ctrl-C is reported
  cli::CommonOptions common;
  cli::Command root = byoc_command(common);
  const bool is_worker = argc > 1 && std::string_view(argv[1]) == "tune-worker";
  if (is_worker) root.commands = {tune_worker_command()};
  int code = cli::run_command_line(root, common, argc, argv);
  shutdown_plugins();
  return code;
}

}  // namespace byoc::driver
