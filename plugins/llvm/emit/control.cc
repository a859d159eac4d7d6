// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/emit/control.h"

#include <algorithm>

#include "llvm/IR/Function.h"

namespace byoc::llvm_plugin {

llvm::BasicBlock* Control::block(const char* name) {
  return llvm::BasicBlock::Create(builder_.getContext(), name, function_);
}

Range Control::range_of(const te::For& loop) {
  Range out = values_.ranges().of(loop.begin);
  const Range extent = values_.ranges().of(loop.extent);
  const bool is_known = extent.high < Range::kUnknown && out.high < Range::kUnknown;
  out.high = is_known ? out.high + std::max<int64_t>(extent.high, 1) - 1 : Range::kUnknown;
  return out;
}

Status Control::once(const te::For& loop, Value at, Range range, Emit emit) {
  values_.bind(loop.var, at);
  values_.ranges().set(loop.var, range);
  Status status = emit(loop.body);
  values_.unbind(loop.var);
  return status;
}

Status Control::unrolled(const te::For& loop, Emit emit) {
  values_.begin_statement();
  Value begin = values_.value(loop.begin);
  const Range range = values_.ranges().of(loop.begin);
  const bool is_known = range.low > -Range::kUnknown && range.high < Range::kUnknown;
  for (int64_t k = 0, n = *te::as_int(loop.extent); k < n; ++k) {
    Value at = builder_.CreateAdd(begin, builder_.getInt64(static_cast<uint64_t>(k)));
    BYOC_TRY_STATUS(once(loop, at, is_known ? Range{range.low + k, range.high + k} : range, emit));
  }
  return {};
}

Result<llvm::BranchInst*> Control::counted(const te::For& loop, Value begin, Value end,
                                           bool is_never_empty, Range range, Emit emit) {
  llvm::BasicBlock *inside = block("loop"), *after = block("after");
  if (is_never_empty) builder_.CreateBr(inside);
  else builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), inside, after);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.SetInsertPoint(inside);
  llvm::PHINode* at = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  at->addIncoming(begin, before);
  BYOC_TRY_STATUS(once(loop, at, range, emit));
  Value next = builder_.CreateNSWAdd(at, builder_.getInt64(1));
  at->addIncoming(next, builder_.GetInsertBlock());
  llvm::BranchInst* latch = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), inside, after);
  builder_.SetInsertPoint(after);
  return latch;
}

Status Control::branch(const te::If& branch, Value condition, Emit emit) {
  if (auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return emit(fixed->isOne() ? branch.yes : branch.no);
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

Status Control::let(const te::Let& let, Emit emit) {
  values_.begin_statement();
  values_.bind_value(let.var, let.value);
  Status status = emit(let.body);
  values_.unbind(let.var);
  return status;
}

Status Control::with_memory(const te::Alloc& alloc, Value base, Emit emit) {
  values_.set_base(alloc.tensor.id(), base);
  Status status = emit(alloc.body);
  values_.forget_base(alloc.tensor.id());
  return status;
}

llvm::Value* Control::stack(const te::Tensor& tensor, const Home& home, uint64_t align) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::AllocaInst* out = llvm::IRBuilder<>(&entry, entry.begin())
                              .CreateAlloca(memory_type(builder_.getContext(), tensor, home));
  out->setAlignment(llvm::Align(align));
  return out;
}

llvm::ArrayType* memory_type(llvm::LLVMContext& context, const te::Tensor& tensor,
                             const Home& home) {
  return llvm::ArrayType::get(storage_type(context, tensor.dtype()),
                              static_cast<uint64_t>(std::max<int64_t>(home.elements, 1)));
}

}  // namespace byoc::llvm_plugin
