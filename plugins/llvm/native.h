// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop functions -> a native module: one shared object that the runtime loads by itself.
#include <functional>
#include <span>

#include "plugins/llvm/emit/emit.h"

namespace byoc::llvm_plugin {

/// The machine code of one loop function, which its symbol names.
struct Kernel {
  std::string symbol, object;
  uint64_t workspace_bytes = 0;
};
/// A name made of what the function is and of how it is compiled: equal ones have equal code.
std::string kernel_symbol(const te::LoopFunction& function, const Machine& machine,
                          const EmitOptions& options);
Result<Kernel> compile_kernel(const te::LoopFunction& function, const std::string& symbol,
                              const Machine& machine, const EmitOptions& options);
/// For people: LLVM's text after its passes, and the assembly made of it.
struct Listings {
  std::string llvm, assembly;
};
Result<Listings> list_kernel(const te::LoopFunction& function, const Machine& machine,
                             const EmitOptions& options);

/// One function of the module per entry; the same kernel may stand there several times. `callees`:
/// kernels that functions call, and objects of functions that have none of their own (sequence.h).
/// signatures[k]: byoc_native_fn::signature of functions[k]; with none, functions give none.
Result<std::string> link_native(std::span<const Kernel* const> functions, const Machine& machine,
                                std::span<const std::string> signatures = {},
                                std::span<const Kernel* const> callees = {});

}  // namespace byoc::llvm_plugin
