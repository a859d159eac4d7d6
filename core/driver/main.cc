// SPDX-License-Identifier: Apache-2.0
// The `byoc` command.
#include <unistd.h>
#include <csignal>
#include <string_view>

#include "byoc/compile.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/interrupt.h"
#include "runtime/threads/wait_policy.h"

int main(int argc, char** argv) {
  byoc::sleep_beside_others(argv);
  // BYOC_CHECK has printed the failed check; the exit code means a bug in byoc.
  std::signal(SIGABRT, [](int) { _exit(byoc::cli::kBug); });
  byoc::driver::user_cancellation();  // from here on Ctrl-C is reported
  byoc::cli::CommonOptions common;
  byoc::cli::Command root = byoc::driver::byoc_command(common);
  const bool is_worker = argc > 1 && std::string_view(argv[1]) == "tune-worker";
  if (is_worker) root.commands = {byoc::driver::tune_worker_command()};
  int code = byoc::cli::run_command_line(root, common, argc, argv);
  byoc::shutdown_plugins();
  return code;
}
