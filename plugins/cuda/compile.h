// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions in the ABI's form to kernels: graph, tensor expressions, loops, LLVM IR, PTX.
#include "plugins/cuda/code/gpu_module.h"
#include "plugins/cuda/saved.h"

namespace byoc::cuda {

/// Returns an error where the graph has an op that devices have no code for; its code is made up to
/// LLVM IR. Errors: kUnimplemented with the reason; kBadGraph.
Status can_compile(std::string_view graph_json, const GpuTarget& target);

/// Compiles all functions of a request to one module. Throws sdk::Declined for a function that has
/// no code.
SavedModule compile_functions(sdk::CompileRequest& request, const GpuTarget& target);

/// Returns the code of the functions as text: "llvm" or "asm", which is PTX.
std::string shown_code(sdk::CompileRequest& request, const GpuTarget& target,
                       std::string_view form);

}  // namespace byoc::cuda
