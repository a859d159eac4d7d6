// SPDX-License-Identifier: Apache-2.0
#include "core/driver/run_byoc.h"

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <string_view>
#include <vector>

#include "byoc/compile.h"
#include "core/driver/bug_bundle.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/slug_table.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/runnable.h"
#include "runtime/threads/wait_policy.h"

namespace byoc::driver {

namespace {

/// Reads "byoc help symbolic-shape" as "byoc error symbolic-shape". Commands come first.
void read_help_of_slug(const cli::Command& root, std::vector<char*>& words) {
  static char error[] = "error";
  if (words.size() < 3 || std::string_view(words[1]) != "help") return;
  const std::string_view name = words[2];
  if (std::ranges::count(root.commands, name, &cli::Command::name) > 0) return;
  if (std::ranges::count(slug_table(), name, &SlugRow::slug) > 0) words[1] = error;
}

}  // namespace

int run_byoc(int argc, char** argv) {
  sleep_beside_others(argv);
  leave_bug_bundles(argc, argv);
  // BYOC_CHECK has printed the failed check; the exit code means a bug in byoc.
  std::signal(SIGABRT, [](int) { _exit(cli::kBug); });
  user_cancellation();  // from here on Ctrl-C is reported
  cli::CommonOptions common;
  cli::Command root = byoc_command(common);
  const bool is_worker = argc > 1 && std::string_view(argv[1]) == "tune-worker";
  if (is_worker) root.commands = {tune_worker_command()};
  std::vector<char*> words(argv, argv + argc);
  read_help_of_slug(root, words);
  install_warnings(&common);
  int code = cli::run_command_line(root, common, argc, words.data());
  install_warnings(nullptr);
  shutdown_plugins();
  return code;
}

}  // namespace byoc::driver
