// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits a loop function as one LLVM module with one external function,
// int32_t symbol(const byoc_native_call*).
#include <memory>

#include "byoc/te/stmt.h"
#include "plugins/llvm/analysis/workspace.h"
#include "plugins/llvm/machine/machine.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace byoc::llvm_plugin {

struct EmitOptions {
  bool contract = true;       // a product and a sum may become one operation
  uint32_t threads = 1;       // of a run: parallel loops need workspace for each
  bool saves_effort = false;  // of LLVM, on kernels that are over at once
  bool shares_all = false;    // workers share short loops, too (te::Target)
};
struct Emitted {
  std::unique_ptr<llvm::Module> module;
  Workspace workspace;
  bool has_tiles = false;  // it uses the registers of kTiles
};
/// Emits `function`. The call's data are its inputs, then its outputs.
/// Errors: kUnimplemented, which names the construct that cannot be emitted.
Result<Emitted> emit_function(const te::LoopFunction& function, const std::string& symbol,
                              const Machine& machine, const llvm::TargetMachine& target,
                              const EmitOptions& options, llvm::LLVMContext& context);

}  // namespace byoc::llvm_plugin
