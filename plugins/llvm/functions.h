// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the functions of a request. One that the cache has is not lowered.
#include "plugins/llvm/compile.h"
#include "plugins/llvm/lower.h"

namespace byoc::llvm_plugin {

struct CompiledFunctions {
  std::vector<CompiledFunction> functions;
  std::vector<Status> errors;  // per function
  size_t lowered = 0;          // functions that the cache did not have
};
/// Compiles functions for `target`; kernels that make packed constants are for this machine.
/// `read_each` runs the work on single functions and may throw. Errors: those of lower_function and
/// compile_kernels.
CompiledFunctions compile_functions(std::span<const FunctionToLower> functions,
                                    const te::Target& target, bool contract,
                                    const CompileOptions& options, const ForEach& read_each);

/// Returns the name of a function's result in the cache: of the graph without names, of the facts
/// that lowering reads, and of `use`.
std::string name_in_cache(char prefix, FunctionModule& function, const te::Target& target,
                          std::string_view use);

}  // namespace byoc::llvm_plugin
