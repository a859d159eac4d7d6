// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tuning tasks of a module: its functions for which a plugin has choices.
#include "byoc/compile.h"
#include "byoc/tune/space.h"

namespace byoc::tune {

/// Equal functions of a module, for a plugin with knobs.
struct Task {
  std::string plugin;                ///< compiles it
  Space space;                       ///< the choices
  ContentKey key;                    ///< key_of(plugin, space)
  CompileFunction input;             ///< as the plugin receives it in a build of the module
  std::vector<std::string> symbols;  ///< of the functions with this task
  std::vector<std::string> locs;     ///< nodes of the user's model, each once
  size_t count = 0;                  ///< calls of these functions in one run of the model
  /// The estimate of count * ns per run: the history's best time when it has one, else from flops
  /// and bytes.
  double weight = 0;
};

/// Runs the passes of build up to run_codegen, then collects the functions whose plugin has knobs
/// for them. Tasks are in order of falling weight, then of key. `module` may be partitioned, or
/// even fused, before. Errors: those of build before run_codegen.
Result<std::vector<Task>> extract_tasks(IRModule module, const BuildOptions& options);

}  // namespace byoc::tune
