// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/emit/emit.h"

#include <cstddef>

#include "byoc/base/check.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "plugins/llvm/emit/body.h"

namespace byoc::llvm_plugin {
namespace {

// Emits body(data..., host, workspace, call). Data and workspace do not alias.
Result<llvm::Function*> make_body(Unit& unit, const te::LoopFunction& function) {
  size_t data = function.inputs.size() + function.outputs.size();
  auto* ptr = llvm::PointerType::getUnqual(unit.module.getContext());
  llvm::Function* out =
      make_function(unit, unit.symbol + ".body", std::vector<llvm::Type*>(data + 3, ptr));
  for (unsigned k = 0; k < data; ++k) {
    out->addParamAttr(k, llvm::Attribute::NoAlias);
    if (k < function.inputs.size()) out->addParamAttr(k, llvm::Attribute::ReadOnly);
  }
  out->addParamAttr(static_cast<unsigned>(data + 1), llvm::Attribute::NoAlias);
  Body body(unit, out);
  unsigned number = 0;
  for (const te::Tensor& tensor : function.inputs)
    body.values().set_base(tensor.id(), out->getArg(number++));
  for (const te::Tensor& tensor : function.outputs)
    body.values().set_base(tensor.id(), out->getArg(number++));
  BYOC_CHECK(number + 3 == out->arg_size(), "the body has ", out->arg_size(), " arguments for ",
             number, " tensors");
  body.set_memory(out->getArg(number), out->getArg(number + 1), nullptr);
  body.set_call(out->getArg(number + 2));
  body.bind_sizes();
  BYOC_TRY_STATUS(body.emit(function.body));
  body.finish();
  return out;
}

// Emits the function that the runtime calls. It loads the body's arguments from the call.
void make_entry(Unit& unit, llvm::Function* body) {
  BYOC_CHECK(body->arg_size() >= 3, "the body gets host, workspace and call");
  llvm::LLVMContext& context = unit.module.getContext();
  auto* ptr = llvm::PointerType::getUnqual(context);
  llvm::Function* entry = make_function(unit, unit.symbol, {ptr});
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  auto field = [&](size_t offset) {
    llvm::Value* place = b.CreateConstGEP1_64(b.getInt8Ty(), entry->getArg(0), offset);
    return b.CreateAlignedLoad(ptr, place, llvm::Align(8));
  };
  llvm::Value* data = field(offsetof(byoc_native_call, data));
  std::vector<llvm::Value*> args;
  for (size_t k = 0; k + 3 < body->arg_size(); ++k) {
    llvm::Value* place = b.CreateConstGEP1_64(ptr, data, k);
    args.push_back(b.CreateAlignedLoad(ptr, place, llvm::Align(8)));
  }
  args.push_back(field(offsetof(byoc_native_call, host)));
  args.push_back(field(offsetof(byoc_native_call, workspace)));
  args.push_back(entry->getArg(0));
  b.CreateRet(b.CreateCall(body, args));
}

}  // namespace

Result<Emitted> emit_function(const te::LoopFunction& function, const std::string& symbol,
                              const Machine& machine, const llvm::TargetMachine& target,
                              const EmitOptions& options, llvm::LLVMContext& context) {
  BYOC_TRY(MemoryPlan plan, plan_memory(function, options.threads));
  BYOC_TRY(Workspace workspace, workspace_of(plan.workspace_bytes, function.sizes));
  Emitted out{std::make_unique<llvm::Module>(symbol, context), std::move(workspace)};
  set_target(*out.module, target);
  Unit unit{*out.module, machine, plan, symbol, options.contract, options.shares_all};
  unit.sizes = function.sizes;
  BYOC_TRY(llvm::Function * body, make_body(unit, function));
  make_entry(unit, body);
  out.has_tiles = unit.has_tiles;
  return out;
}

}  // namespace byoc::llvm_plugin
