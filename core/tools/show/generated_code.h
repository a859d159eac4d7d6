#pragma once
// What plugins generate for the functions of a model, as `byoc print --llvm` and `--asm` show it.
#include "core/tools/model/model_options.h"

namespace byoc::driver {

enum class CodeForm { kLlvm, kAssembly };

/// One compiled function. `text` is empty where its plugin shows no code.
struct GeneratedCode {
  std::string function, plugin, text;
};

/// Partitions and compiles the model with the flags of `options`, and asks plugins for the code of
/// every function, or of `function` alone, in the order they are compiled. A plugin shows its code
/// when it knows the option "dump", a folder: into it go SYMBOL.ll (LLVM's text) and SYMBOL.s
/// (assembly) of each function, where other characters than letters, digits and "_.-" are "_".
/// Errors: those of compiling; slug "unknown-function"; slug "no-code" when there is none to
/// show.
Result<std::vector<GeneratedCode>> generated_code(IRModule module, const std::string& function,
                                                  CodeForm form, const ModelOptions& options,
                                                  const cli::CommonOptions& common);

}  // namespace byoc::driver
