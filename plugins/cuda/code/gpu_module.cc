// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/code/gpu_module.h"

#include <mutex>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

extern "C" {  // LLVM 19's own headers declare these for all targets at once
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace byoc::cuda {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

/// The version of PTX that first has the target, and the driver that first reads it.
/// Source: "PTX ISA", release notes.
struct Known {
  int sm;
  const char* feature;
  int driver;
};
constexpr Known kKnown[] = {
    {80, "+ptx70", 11000}, {86, "+ptx71", 11010}, {89, "+ptx78", 11080}, {90, "+ptx78", 11080}};

const Known& known(const GpuTarget& target) {
  for (const Known& row : kKnown)
    if (row.sm == target.sm) return row;
  return kKnown[0];
}

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// Replaces what NVPTX has no instruction for: fences, which keep conversions of halves apart on
// processors, and conversions to the nearest integer as one step.
void replace_intrinsics(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call == nullptr) continue;
        llvm::Value* value = nullptr;
        if (call->getIntrinsicID() == llvm::Intrinsic::arithmetic_fence) {
          value = call->getArgOperand(0);
        } else if (call->getIntrinsicID() == llvm::Intrinsic::lrint) {
          llvm::IRBuilder<> b(call);
          value = b.CreateFPToSI(
              b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, call->getArgOperand(0)),
              call->getType());
        }
        if (value == nullptr) continue;
        call->replaceAllUsesWith(value);
        call->eraseFromParent();
      }
    }
  }
}

}  // namespace

Result<GpuTarget> parse_gpu_target(std::string_view text) {
  std::string all;
  for (const Known& row : kKnown) {
    if (text == std::to_string(row.sm)) return GpuTarget{.sm = row.sm};
    all += cat(all.empty() ? "" : ", ", row.sm);
  }
  return invalid(cat("no target sm=", text, "; known: ", all));
}

int driver_for(const GpuTarget& target) { return known(target).driver; }

GpuModule::~GpuModule() = default;

Result<std::unique_ptr<GpuModule>> GpuModule::make(const GpuTarget& target) {
  initialise();
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (backend == nullptr) return unimplemented(cat("this LLVM has no NVPTX: ", error));
  std::unique_ptr<GpuModule> out(new GpuModule());
  out->machine_.triple = kTriple;
  out->machine_.features = {"f16c"};  // halves are converted by instructions
  out->target_.reset(backend->createTargetMachine(
      kTriple, cat("sm_", target.sm), known(target).feature, llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  out->context_ = std::make_unique<llvm::LLVMContext>();
  out->module_ = std::make_unique<llvm::Module>("byoc", *out->context_);
  llvm_plugin::set_target(*out->module_, *out->target_);
  return out;
}

Result<std::string> GpuModule::ptx() {
  replace_intrinsics(*module_);
  llvm_plugin::optimise(*module_, *target_, llvm_plugin::Effort::kMost);
  return llvm_plugin::generate(*module_, *target_, llvm_plugin::CodeKind::kAssembly);
}

std::string GpuModule::llvm() const {
  std::string out;
  llvm::raw_string_ostream stream(out);
  module_->print(stream, nullptr);
  return out;
}

}  // namespace byoc::cuda
