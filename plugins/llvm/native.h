// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles loop functions to a native module: one shared object that the runtime loads by itself.
#include <functional>
#include <memory>
#include <span>

#include "plugins/llvm/emit/emit.h"

namespace byoc::llvm_plugin {

/// The machine code of one loop function, which its symbol names.
struct Kernel {
  std::string symbol, object;
  Workspace workspace = {};
  bool has_tiles = false;  // the code uses the registers of kTiles
};
/// Returns the kernel with a function's names of its sizes in its workspace.
std::shared_ptr<const Kernel> with_names(std::shared_ptr<const Kernel> kernel,
                                         std::span<const std::string> names);
/// Returns a name made of the function and of the options it is compiled with: equal names
/// have equal code.
std::string kernel_symbol(const te::LoopFunction& function, const Machine& machine,
                          const EmitOptions& options);
Result<Kernel> compile_kernel(const te::LoopFunction& function, const std::string& symbol,
                              const Machine& machine, const EmitOptions& options);
/// Listings for people: LLVM's text after its passes, and the assembly of it.
struct Listings {
  std::string llvm, assembly;
};
Result<Listings> list_kernel(const te::LoopFunction& function, const Machine& machine,
                             const EmitOptions& options);

/// Links a module with one function per entry; the same kernel may occur several times. `callees`:
/// kernels that functions call, and objects of functions that have none of their own (sequence.h).
/// signatures[k]: byoc_native_fn::signature of functions[k]; when empty, functions have none.
Result<std::string> link_native(std::span<const Kernel* const> functions, const Machine& machine,
                                std::span<const std::string> signatures = {},
                                std::span<const Kernel* const> callees = {});

}  // namespace byoc::llvm_plugin
