// SPDX-License-Identifier: Apache-2.0
#pragma once
// The code that plugins generate for the functions of a model, for `byoc print --llvm` and `--asm`,
// and counts of its work for `--work`.
#include "byoc/tune/space.h"
#include "core/tools/model/model_options.h"

namespace byoc::driver {

enum class CodeForm { kLlvm, kAssembly, kWork };
/// Returns the name of the form: of the flag, and for Plugin::show.
const char* name_of(CodeForm form);

/// One function that a plugin compiles. `text` is empty when the plugin shows no code of the form.
/// `point` has the values of its knobs when a log gave them.
struct GeneratedCode {
  std::string function, plugin, text;
  tune::Point point = {};
};

/// Partitions the model with the flags of `options`, and returns the code that Plugin::show writes
/// for every function, or for `function` alone, in the order they are compiled.
/// Errors: those of the passes and of show; slug "symbolic-shape"; slug "unknown-function"; slug
/// "no-code" when no plugin shows any.
Result<std::vector<GeneratedCode>> generated_code(IRModule module, const std::string& function,
                                                  CodeForm form, const ModelOptions& options);

}  // namespace byoc::driver
