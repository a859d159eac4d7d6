// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/code/statements.h"

#include <algorithm>

#include "byoc/ir/visit.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace byoc::cuda {

using llvm_plugin::Home;

namespace {

constexpr unsigned kSharedSpace = 3;  // as NVPTX numbers it
constexpr unsigned kAlign = 16;

}  // namespace

Statements::Statements(llvm::Function* function, const llvm_plugin::Machine& machine,
                       const llvm_plugin::MemoryPlan& plan, const Roles& roles,
                       const GroupShape& shape, bool contract)
    : function_(function),
      plan_(plan),
      roles_(roles),
      shape_(shape),
      builder_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
      ops_(builder_, machine, contract),
      values_(ops_, machine, plan),
      control_(function, builder_, values_) {}

llvm::Value* Statements::special(llvm::Intrinsic::ID id) {
  return builder_.CreateZExt(builder_.CreateIntrinsic(id, {}, {}), builder_.getInt64Ty());
}

void Statements::set_failure(Value address, std::vector<std::string>* ops) {
  failure_ = address;
  failures_ = ops;
  llvm::BasicBlock *leave = block("leave"), *go_on = block("go_on");
  Value number = builder_.CreateAlignedLoad(builder_.getInt64Ty(), address, llvm::Align(8));
  builder_.CreateCondBr(builder_.CreateICmpEQ(number, builder_.getInt64(0)), go_on, leave);
  builder_.SetInsertPoint(leave);
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(go_on);
}

Status Statements::emit(const te::Stmt& stmt) {
  if (stmt.is_empty()) return {};
  return std::visit(overloaded{
                        [&](const te::For& v) { return emit_loop(v); },
                        [&](const te::Store& v) {
                          values_.begin_statement();
                          values_.store(v.tensor, v.indices, values_.value(v.value));
                          return Status();
                        },
                        [&](const te::If& v) { return emit_if(v); },
                        [&](const te::Let& v) { return control_.let(v, inner()); },
                        [&](const te::Alloc& v) { return emit_alloc(v); },
                        [&](const te::Block& v) {
                          for (const te::Stmt& inner : v.stmts) BYOC_TRY_STATUS(emit(inner));
                          return Status();
                        },
                        [&](const te::Intrinsic& v) { return emit_intrinsic(v); },
                    },
                    stmt->kind);
}

Status Statements::emit_loop(const te::For& loop) {
  if (roles_.groups.contains(loop.var.id())) return emit_groups(loop);
  if (roles_.threads.contains(loop.var.id())) return emit_threads(loop);
  return loop.kind == te::LoopKind::kUnrolled ? control_.unrolled(loop, inner())
                                              : emit_serial(loop);
}

Status Statements::emit_groups(const te::For& loop) {
  values_.begin_statement();
  Value at = builder_.CreateAdd(values_.value(loop.begin),
                                special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x));
  return control_.once(loop, at, control_.range_of(loop), inner());
}

// Threads beyond the extent skip the body.
Status Statements::emit_threads(const te::For& loop) {
  values_.begin_statement();
  const llvm_plugin::Range range = control_.range_of(loop);
  Value thread = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value at = builder_.CreateAdd(values_.value(loop.begin), thread);
  llvm::BasicBlock* after = nullptr;
  if (te::as_int(loop.extent) != static_cast<int64_t>(shape_.threads)) {
    llvm::BasicBlock* inside = block("thread");
    after = block("threads");
    Value extent = values_.value(loop.extent);
    builder_.CreateCondBr(builder_.CreateICmpSLT(thread, extent), inside, after);
    builder_.SetInsertPoint(inside);
  }
  BYOC_TRY_STATUS(control_.once(loop, at, range, inner()));
  if (after != nullptr) {
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }
  if (shape_.has_barriers) builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  return {};
}

Status Statements::emit_serial(const te::For& loop) {
  values_.begin_statement();
  Value begin = values_.value(loop.begin), extent = values_.value(loop.extent);
  const std::optional<int64_t> fixed = te::as_int(loop.extent);
  if (fixed && *fixed <= 0) return {};
  if (fixed == 1) return control_.once(loop, begin, control_.range_of(loop), inner());
  return control_
      .counted(loop, begin, builder_.CreateAdd(begin, extent), fixed.has_value(),
               control_.range_of(loop), inner())
      .status();
}

Status Statements::emit_if(const te::If& branch) {
  values_.begin_statement();
  if (const std::optional<bool> known = values_.ranges().decide(branch.condition))
    return emit(*known ? branch.yes : branch.no);
  return control_.branch(branch, values_.value(branch.condition), inner());
}

// Shared memory is a variable of the module. Registers and memory of one thread are on its stack,
// which becomes registers where all indices are constants.
Status Statements::emit_alloc(const te::Alloc& alloc) {
  const Home& home = plan_.homes.at(alloc.tensor.id());
  if (!roles_.shared.contains(alloc.tensor.id()))
    return control_.with_memory(alloc, control_.stack(alloc.tensor, home, kAlign), inner());
  llvm::ArrayType* type = llvm_plugin::memory_type(builder_.getContext(), alloc.tensor, home);
  auto* memory = new llvm::GlobalVariable(
      *function_->getParent(), type, false, llvm::GlobalValue::InternalLinkage,
      llvm::UndefValue::get(type), function_->getName() + "_shared", nullptr,
      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(kAlign));
  return control_.with_memory(alloc, builder_.CreateAddrSpaceCast(memory, builder_.getPtrTy()),
                              inner());
}

}  // namespace byoc::cuda
