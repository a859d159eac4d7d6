// SPDX-License-Identifier: Apache-2.0
// The list of all commands, which the command line, its completions and its manual are made of.
#include "core/driver/commands/commands.h"

namespace byoc::driver {

cli::Command byoc_command(cli::CommonOptions& common) {
  cli::Command root;
  root.name = "byoc";
  root.about = "compile neural networks by handing their parts to plugins";
  root.examples = {
      {"byoc explain net.onnx", "which plugin runs each op, and why the others do not"},
      {"byoc compile net.onnx -o net.byoc", "one file that runs anywhere the plugins are"},
      {"byoc run net.byoc --input x=a.npy --output-dir out", "run it"}};
  cli::add_common_options(root, common);
  root.commands = {
      plugins_command(common),   ops_command(common),        opt_command(common),
      print_command(common),     partition_command(common),  explain_command(common),
      compile_command(common),   run_command(common),        bench_command(common),
      verify_command(common),    dump_command(common),       replay_command(common),
      test_onnx_command(common), demo_command(common),       check_plugin_command(common),
      doctor_command(common),    new_plugin_command(common), tune_command(common),
      place_command(common),     calibrate_command(common),  report_command(common),
      inspect_command(common),   join_command(common),       error_command(common),
      cache_command(common),
  };
  return root;
}

}  // namespace byoc::driver
