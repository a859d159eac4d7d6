// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a MODEL ready to run: compiles it, or loads it when it is compiled already.
#include <functional>
#include <set>

#include "core/tools/model/model_options.h"
#include "runtime/cli/given_shapes.h"

namespace byoc::driver {

struct Runnable {
  Executable executable;
  std::shared_ptr<const PluginSet> plugins;
  cli::PickedSize size;   // of an artifact; without its executable
  cli::RunInputs inputs;  // of the run, with shapes where the program has open sizes
};

/// Receives warnings about the work, one at a time; may be empty.
using Warn = std::function<void(const std::string&)>;
/// Prints warnings as commands do. `common` must outlive the result.
Warn warn_to(const cli::CommonOptions& common);
/// Sets the options by which installed_warn() prints: those of the command that runs, or null.
void install_warnings(const cli::CommonOptions* common);
/// Prints a warning of code that has no options at hand, as the command does.
void installed_warn(const std::string& text);

/// Calls while a model is made ready; both may be empty.
struct RunnableHooks {
  Warn warn;
  std::function<Result<Executable>(IRModule, const BuildOptions&)> build;  // empty: byoc::build
};
/// Prints warnings, and shows the progress of compiling. `common` must outlive the result.
RunnableHooks hooks_for(const cli::CommonOptions& common);

/// Checks that no flag for compiling is given, since an artifact is compiled already: --shape gives
/// the sizes of the run. Errors of usage when one is.
Status check_artifact_flags(const ModelOptions& options);
/// Compiles or loads the model at `path`, the result of model_path. The values in `inputs`, as
/// --input, and the sizes of --shape choose among the sizes of an artifact.
Result<Runnable> make_runnable(const ModelOptions& options, const std::string& path,
                               const std::vector<std::string>& inputs, const RunnableHooks& hooks);

/// Returns the ids of the plugins that run steps of `executable`.
std::set<std::string> plugins_of(const Executable& executable);
/// Warns of each --plugin FILE whose plugin is not among the `used`: the user would
/// take the results for those of that plugin.
void warn_unused_plugins(const std::set<std::string>& used, const PluginSet& plugins,
                         const ModelOptions& options, const Warn& warn);

/// Passes on the warnings of the import, and one when an ONNX model is of an opset that came after
/// this byoc.
void warn_of_import(const IRModule& module, const Warn& warn);
/// Warns of each plan or file of costs that --compiler auto could not use.
void warn_unused_plans(const Report& report, const Warn& warn);

}  // namespace byoc::driver
