// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc run`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/runtime/session.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/runnable.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/given_shapes.h"

namespace byoc::driver {

/// A model that is loaded for running.
struct ReadyModel {
  std::string path;
  AssumedSizes sizes;
  std::vector<std::string> inputs;           // as --input, with shapes where sizes are open
  cli::PickedSize size;                      // of an artifact; without its executable
  std::shared_ptr<const PluginSet> plugins;  // outlives the session
  std::unique_ptr<Session> session;
};

/// Calls while a model is made ready; all may be empty.
struct ReadyHooks {
  RunnableHooks runnable;
  std::function<void(const AssumedSizes&)> sizes_known;  // before it is compiled; those of the run
};

/// Compiles the model of `options`, or reads it when it is compiled, and loads it. Sizes that the
/// user leaves open are those of `inputs`, as --input.
Result<ReadyModel> ready_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                              bool allows_native, const ReadyHooks& hooks);
/// Returns the members of byoc.run/1 that the run does not give.
nlohmann::ordered_json json_of(const ReadyModel& ready, const ModelOptions& options);

}  // namespace byoc::driver
