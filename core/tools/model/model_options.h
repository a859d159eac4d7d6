// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares the flags of every command that takes MODEL, and makes a module and the choice of
// plugins from them.
#include "byoc/compile.h"
#include "runtime/cli/command.h"

namespace byoc::driver {

struct PluginFlags {
  std::vector<std::string> files, options;  // --plugin FILE, --plugin-option id.name=value
};

struct TuningUse;

struct ModelOptions {
  std::string model;
  std::vector<std::string> shapes, bind, compilers, compute, place;
  std::string default_codegen, target = "native", plan;
  PluginFlags plugins;
  uint32_t threads = 1;
  int level = 2;
  bool strict = false, exact_sums = false;
  bool places = false;  // the command chooses by cost, also without --compiler auto
  std::vector<std::string> tuning_logs;  // --tuning-log and --require-tuned, see tuning.h
  bool require_tuned = false;
  std::shared_ptr<TuningUse> tuning;
};

/// The heading of the options for the model and for compiling it, which most commands have.
inline constexpr const char* kBuildGroup = "options of the model and of compiling it";

/// Adds --plugin and --plugin-option.
void add_plugin_options(cli::Command& command, PluginFlags& flags);
/// Adds the flags for compiling: --compiler, --default, --plugin, --threads, --target, --strict,
/// --exact-sums, --compute, -O.
void add_build_options(cli::Command& command, ModelOptions& options);
/// Adds MODEL and all its flags, which point into `options`.
void add_model_options(cli::Command& command, ModelOptions& options, const std::string& model_doc);

/// Returns the flags as words of a command line.
std::vector<std::string> flags_of(const PluginFlags& flags);
/// Searches for plugins. Errors: slug "plugin-option".
Result<std::shared_ptr<const PluginSet>> find_plugins(const PluginFlags& flags);
/// Searches for plugins. Errors: those of find_plugins; slug "plugin-refused" when a --plugin FILE
/// cannot be used.
Result<std::shared_ptr<const PluginSet>> load_plugins(const PluginFlags& flags);
/// Loads the plugins and returns the options. Ctrl-C cancels compiling with them (interrupt.h).
/// Errors: slug "usage" for flags that are not valid; those of use_tuning_logs (tuning.h).
Result<BuildOptions> build_options(const ModelOptions& options);

/// Returns the file of MODEL: `model` itself, or the only model in it when it is a folder. Errors:
/// slug "model-file", with the nearest name when there is no such file.
Result<std::string> model_path(const std::string& model);
bool is_artifact(const std::string& path);  // ends in .byoc
/// Reads .onnx or .ir with --shape and --bind applied. Errors: slug "model-file" for other files.
Result<IRModule> load_model(const ModelOptions& options);

}  // namespace byoc::driver
