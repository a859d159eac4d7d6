// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops, branches, names and memory of a stack as LLVM IR: what emitters for processors and for
// devices have in common. The caller's function emits the statements inside.
#include "plugins/llvm/values/values.h"

namespace byoc::llvm_plugin {

class Control {
 public:
  using Value = llvm::Value*;
  using Emit = llvm::function_ref<Status(const te::Stmt&)>;
  Control(llvm::Function* function, llvm::IRBuilder<>& builder, Values& values)
      : function_(function), builder_(builder), values_(values) {}

  llvm::BasicBlock* block(const char* name);
  /// Returns the range of a loop's variable.
  Range range_of(const te::For& loop);
  /// Emits the body for one value of the variable, which is in `range`.
  Status once(const te::For& loop, Value at, Range range, Emit emit);
  /// Emits the body as often as the loop has iterations, whose number is a constant.
  Status unrolled(const te::For& loop, Emit emit);
  /// Emits the iterations from begin to before end. Returns the branch that ends one.
  Result<llvm::BranchInst*> counted(const te::For& loop, Value begin, Value end,
                                    bool is_never_empty, Range range, Emit emit);
  Status branch(const te::If& branch, Value condition, Emit emit);
  Status let(const te::Let& let, Emit emit);
  /// Emits the body of an allocation whose memory begins at `base`.
  Status with_memory(const te::Alloc& alloc, Value base, Emit emit);
  /// Makes memory on the stack, of at least one element.
  Value stack(const te::Tensor& tensor, const Home& home, uint64_t align);

 private:
  llvm::Function* function_;
  llvm::IRBuilder<>& builder_;
  Values& values_;
};

/// Returns the type of the memory of a tensor: an array of at least one element.
llvm::ArrayType* memory_type(llvm::LLVMContext& context, const te::Tensor& tensor,
                             const Home& home);

}  // namespace byoc::llvm_plugin
