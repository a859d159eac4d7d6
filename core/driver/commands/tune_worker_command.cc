// SPDX-License-Identifier: Apache-2.0
// byoc tune-worker: a process of `byoc tune`. It is no command for people: help does not list it.
#include "core/driver/commands/commands.h"
#include "core/tools/model/model_options.h"
#include "core/tuner/measure/worker.h"
#include "core/tuner/slurm/node_worker.h"

namespace byoc::driver {
namespace {

struct TuneWorkerFlags {
  std::string role, folder;
  uint64_t number = 0;
  PluginFlags plugins;
};

Result<tune::Role> role_of(const std::string& name) {
  if (name == "builder") return tune::Role::kBuilder;
  if (name == "runner") return tune::Role::kRunner;
  if (name == "wide-runner") return tune::Role::kWideRunner;
  return cli::usage_error(
      cat("--role is builder, runner, wide-runner or node, not \"", name, "\""));
}

/// Measures for a tuner on another machine.
Result<int> run_node(const TuneWorkerFlags& options) {
  tune::NodeOptions node;
  node.folder = options.folder;
  node.number = options.number;
  node.program = "/proc/self/exe";
  node.plugin_flags = flags_of(options.plugins);
  BYOC_TRY(auto plugins, find_plugins(options.plugins));
  BYOC_TRY_STATUS(tune::serve_node(node, std::move(plugins)));
  return cli::kDone;
}

Result<int> run_tune_worker(const TuneWorkerFlags& options) {
  if (options.role == "node") return run_node(options);
  BYOC_TRY(const tune::Role role, role_of(options.role));
  tune::confine_worker(role);
  BYOC_TRY(auto plugins, find_plugins(options.plugins));
  BYOC_TRY_STATUS(tune::serve_requests(plugins));
  return cli::kDone;
}

}  // namespace

cli::Command tune_worker_command() {
  auto options = std::make_shared<TuneWorkerFlags>();
  cli::Command command;
  command.name = "tune-worker";
  command.about = "build or run points for byoc tune; requests are lines of the input, or files";
  command.examples = {{"byoc tune-worker --role runner", "byoc tune starts it in this way"}};
  command.options.push_back(
      {"--role", "ROLE", "builder, runner, wide-runner or node", &options->role, true});
  command.options.push_back(
      {"--folder", "DIR", "of a node: where it exchanges files with the tuner", &options->folder});
  command.options.push_back({"--number", "N", "of a node: its number", &options->number});
  add_plugin_options(command, options->plugins);
  command.run = [options] { return run_tune_worker(*options); };
  return command;
}

}  // namespace byoc::driver
