// SPDX-License-Identifier: Apache-2.0
// byoc tune-worker: a process of `byoc tune`. It is no command for people, so help does not list it.
#include "core/driver/commands/commands.h"
#include "core/tools/model/model_options.h"
#include "core/tuner/measure/worker.h"

namespace byoc::driver {
namespace {

struct Options {
  std::string role;
  PluginFlags plugins;
};

Result<tune::Role> role_of(const std::string& name) {
  if (name == "builder") return tune::Role::kBuilder;
  if (name == "runner") return tune::Role::kRunner;
  if (name == "wide-runner") return tune::Role::kWideRunner;
  return cli::usage_error(cat("--role is builder, runner or wide-runner, not \"", name, "\""));
}

Result<int> run(const Options& options) {
  BYOC_TRY(const tune::Role role, role_of(options.role));
  tune::confine_worker(role);
  BYOC_TRY(auto plugins, find_plugins(options.plugins));
  BYOC_TRY_STATUS(tune::serve_requests(plugins));
  return cli::kDone;
}

}  // namespace

cli::Command tune_worker_command() {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "tune-worker";
  command.about = "build or run points for byoc tune; requests are lines on standard input";
  command.examples = {{"byoc tune-worker --role runner", "byoc tune starts it in this way"}};
  command.options.push_back(
      {"--role", "ROLE", "builder, runner or wide-runner", &options->role, true});
  add_plugin_options(command, options->plugins);
  command.run = [options] { return run(*options); };
  return command;
}

}  // namespace byoc::driver
