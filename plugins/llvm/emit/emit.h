#pragma once
// A loop function -> one LLVM module with one function, int32_t symbol(const byoc_native_call*).
#include <memory>

#include "byoc/te/stmt.h"
#include "plugins/llvm/machine/machine.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace byoc::llvm_plugin {

struct EmitOptions {
  bool contract = true;  // a product and a sum may become one operation
  uint32_t threads = 1;  // that a run may use: decides how much memory parallel loops ask for
};
struct Emitted {
  std::unique_ptr<llvm::Module> module;
  uint64_t workspace_bytes = 0;  // aligned to 64
};
/// The call's data are the function's inputs, then its outputs.
/// Errors: kUnimplemented naming what there is no code for.
Result<Emitted> emit_function(const te::LoopFunction& function, const std::string& symbol,
                              const Machine& machine, const llvm::TargetMachine& target,
                              const EmitOptions& options, llvm::LLVMContext& context);

}  // namespace byoc::llvm_plugin
