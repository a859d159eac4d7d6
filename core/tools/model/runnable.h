// SPDX-License-Identifier: Apache-2.0
#pragma once
// From MODEL to something that runs: compiled here, or loaded when it is compiled already.
#include "core/tools/model/model_options.h"

namespace byoc::driver {

struct Runnable {
  Executable executable;
  std::shared_ptr<const PluginSet> plugins;
};

/// An artifact is compiled already: flags that say how to compile are an error of usage.
Status check_artifact_flags(const ModelOptions& options);
/// `path` is what model_path gave.
Result<Runnable> make_runnable(const ModelOptions& options, const std::string& path,
                               const cli::CommonOptions& common);

}  // namespace byoc::driver
