// SPDX-License-Identifier: Apache-2.0
// The `byoc` command.
#include <unistd.h>
#include <csignal>

#include "byoc/compile.h"
#include "core/driver/commands/commands.h"

int main(int argc, char** argv) {
  using namespace byoc::driver;  // NOLINT: the commands are all there is here
  // BYOC_CHECK has printed the failed check; the exit code means a bug in byoc.
  std::signal(SIGABRT, [](int) { _exit(byoc::cli::kBug); });
  byoc::cli::CommonOptions common;
  byoc::cli::Command root;
  root.name = "byoc";
  root.about = "compile neural networks by handing their parts to plugins";
  root.examples = {
      {"byoc explain net.onnx", "which plugin runs each op, and why the others do not"},
      {"byoc compile net.onnx -o net.byoc", "one file that runs anywhere the plugins are"},
      {"byoc run net.byoc --input x=a.npy --output-dir out", "run it"}};
  byoc::cli::add_common_options(root, common);
  root.commands = {
      plugins_command(common),   ops_command(common),       opt_command(common),
      print_command(common),     partition_command(common), explain_command(common),
      compile_command(common),   run_command(common),       bench_command(common),
      verify_command(common),    dump_command(common),      replay_command(common),
      test_onnx_command(common), demo_command(common),      check_plugin_command(common)};
  int code = byoc::cli::run_command_line(root, common, argc, argv);
  byoc::shutdown_plugins();
  return code;
}
