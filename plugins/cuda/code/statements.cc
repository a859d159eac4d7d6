// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/code/statements.h"

#include <algorithm>

#include "byoc/ir/visit.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace byoc::cuda {

using llvm_plugin::Home;
using llvm_plugin::Range;

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
      values_(ops_, machine, plan) {}

llvm::BasicBlock* Statements::block(const char* name) {
  return llvm::BasicBlock::Create(builder_.getContext(), name, function_);
}

llvm::Value* Statements::special(llvm::Intrinsic::ID id) {
  return builder_.CreateZExt(builder_.CreateIntrinsic(id, {}, {}), builder_.getInt64Ty());
}

Range Statements::range_of(const te::For& loop) {
  Range out = values_.ranges().of(loop.begin);
  const Range extent = values_.ranges().of(loop.extent);
  const bool is_known = extent.high < Range::kUnknown && out.high < Range::kUnknown;
  out.high = is_known ? out.high + std::max<int64_t>(extent.high, 1) - 1 : Range::kUnknown;
  return out;
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
                        [&](const te::Let& v) { return emit_let(v); },
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
  return loop.kind == te::LoopKind::kUnrolled ? emit_unrolled(loop) : emit_serial(loop);
}

Status Statements::emit_once(const te::For& loop, Value at, Range range) {
  values_.bind(loop.var, at);
  values_.ranges().set(loop.var, range);
  Status status = emit(loop.body);
  values_.unbind(loop.var);
  return status;
}

Status Statements::emit_groups(const te::For& loop) {
  values_.begin_statement();
  Value at = builder_.CreateAdd(values_.value(loop.begin),
                                special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x));
  return emit_once(loop, at, range_of(loop));
}

// Threads beyond the extent skip the body.
Status Statements::emit_threads(const te::For& loop) {
  values_.begin_statement();
  const Range range = range_of(loop);
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
  BYOC_TRY_STATUS(emit_once(loop, at, range));
  if (after != nullptr) {
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }
  if (shape_.has_barriers) builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  return {};
}

Status Statements::emit_unrolled(const te::For& loop) {
  values_.begin_statement();
  Value begin = values_.value(loop.begin);
  const Range first = values_.ranges().of(loop.begin);
  for (int64_t k = 0, n = *te::as_int(loop.extent); k < n; ++k) {
    Value at = builder_.CreateAdd(begin, builder_.getInt64(static_cast<uint64_t>(k)));
    BYOC_TRY_STATUS(emit_once(loop, at, {first.low + k, first.high + k}));
  }
  return {};
}

Status Statements::emit_serial(const te::For& loop) {
  values_.begin_statement();
  Value begin = values_.value(loop.begin), extent = values_.value(loop.extent);
  const std::optional<int64_t> fixed = te::as_int(loop.extent);
  if (fixed && *fixed <= 0) return {};
  if (fixed == 1) return emit_once(loop, begin, range_of(loop));
  const Range range = range_of(loop);
  Value end = builder_.CreateAdd(begin, extent);
  llvm::BasicBlock *inside = block("loop"), *after = block("after");
  if (fixed) builder_.CreateBr(inside);
  else builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), inside, after);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.SetInsertPoint(inside);
  llvm::PHINode* at = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  at->addIncoming(begin, before);
  BYOC_TRY_STATUS(emit_once(loop, at, range));
  Value next = builder_.CreateNSWAdd(at, builder_.getInt64(1));
  at->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), inside, after);
  builder_.SetInsertPoint(after);
  return {};
}

Status Statements::emit_if(const te::If& branch) {
  values_.begin_statement();
  if (const std::optional<bool> known = values_.ranges().decide(branch.condition))
    return emit(*known ? branch.yes : branch.no);
  Value condition = values_.value(branch.condition);
  llvm::BasicBlock *yes = block("then"), *no = block("else"), *after = block("end");
  builder_.CreateCondBr(condition, yes, no);
  builder_.SetInsertPoint(yes);
  BYOC_TRY_STATUS(emit(branch.yes));
  builder_.CreateBr(after);
  builder_.SetInsertPoint(no);
  BYOC_TRY_STATUS(emit(branch.no));
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  return {};
}

Status Statements::emit_let(const te::Let& let) {
  values_.begin_statement();
  values_.bind_value(let.var, let.value);
  Status status = emit(let.body);
  values_.unbind(let.var);
  return status;
}

// Shared memory is a variable of the module. Registers and memory of one thread are on its stack,
// which becomes registers where all indices are constants.
Status Statements::emit_alloc(const te::Alloc& alloc) {
  const Home& home = plan_.homes.at(alloc.tensor.id());
  auto* type =
      llvm::ArrayType::get(llvm_plugin::storage_type(builder_.getContext(), alloc.tensor.dtype()),
                           static_cast<uint64_t>(std::max<int64_t>(home.elements, 1)));
  Value base = nullptr;
  if (roles_.shared.contains(alloc.tensor.id())) {
    auto* memory = new llvm::GlobalVariable(
        *function_->getParent(), type, false, llvm::GlobalValue::InternalLinkage,
        llvm::UndefValue::get(type), function_->getName() + "_shared", nullptr,
        llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(kAlign));
    base = builder_.CreateAddrSpaceCast(memory, builder_.getPtrTy());
  } else {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::AllocaInst* memory = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
    memory->setAlignment(llvm::Align(kAlign));
    base = memory;
  }
  values_.set_base(alloc.tensor.id(), base);
  Status status = emit(alloc.body);
  values_.forget_base(alloc.tensor.id());
  return status;
}

}  // namespace byoc::cuda
