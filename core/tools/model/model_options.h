// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares the flags of every command that takes MODEL, and makes a module and the choice of
// plugins from them.
#include "byoc/options.h"
#include "runtime/cli/named_plugins.h"

namespace byoc::driver {

struct PluginFlags {
  std::vector<std::string> files, options;  // --plugin FILE, --plugin-option id.name=value
  cli::IsolationFlags isolation = {};
};

struct TuningUse;

struct ModelOptions {
  std::string model;
  OptionValues values;  // of the flags, by the table of byoc/options.h
  bool places = false;  // the command chooses by cost, also without --compiler auto
  const Cancellation* cancel = nullptr;  // null: that of Ctrl-C, where it is installed
  std::shared_ptr<TuningUse> tuning;     // of commands with --tuning-log, see tuning.h

  template <class T>
  T& operator[](OptionKey<T> key) {
    return values[key];
  }
  template <class T>
  const T& operator[](OptionKey<T> key) const {
    return values[key];
  }
  PluginFlags plugins() const;
};

/// The heading of the options for the model and for compiling it, which most commands have.
inline constexpr const char* kBuildGroup = "options of the model and of compiling it";

/// Adds --plugin, --plugin-option and the flags of isolation.
void add_plugin_options(cli::Command& command, PluginFlags& flags);
/// Adds the flags of these parts, which point into `options`, under the heading kBuildGroup.
void add_options_of(cli::Command& command, ModelOptions& options,
                    std::initializer_list<OptionPart> parts);
/// Adds MODEL and the flags for reading and compiling it, which point into `options`.
void add_model_options(cli::Command& command, ModelOptions& options, const std::string& model_doc);

/// Returns --plugin and --plugin-option as words of a command line, for processes that run plugins.
std::vector<std::string> flags_of(const PluginFlags& flags);
/// Searches for plugins. Errors: slug "plugin-option"; slug "unknown-plugin" for --isolate-plugin.
Result<std::shared_ptr<const PluginSet>> find_plugins(const PluginFlags& flags);
/// Searches for plugins. Errors: those of find_plugins; slug "plugin-refused" when a --plugin FILE
/// cannot be used.
Result<std::shared_ptr<const PluginSet>> load_plugins(const PluginFlags& flags);
/// Loads the plugins and returns the options, which options.cancel or else Ctrl-C cancels
/// (interrupt.h).
/// Errors: slug "usage" for flags that are not valid; those of use_tuning_logs (tuning.h).
Result<BuildOptions> build_options(const ModelOptions& options);

/// Returns the file of MODEL: `model` itself, or the only model in it when it is a folder. Errors:
/// slug "model-file", with the nearest name when there is no such file.
Result<std::string> model_path(const std::string& model);
bool is_artifact(const std::string& path);  // ends in .byoc
/// Reads .onnx or .ir with --shape and --bind applied. Errors: slug "model-file" for other files.
Result<IRModule> load_model(const ModelOptions& options);

}  // namespace byoc::driver
