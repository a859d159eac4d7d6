// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits the statements of one kernel as LLVM IR for NVPTX.
#include <functional>

#include "plugins/cuda/loops/group.h"
#include "plugins/llvm/emit/control.h"

namespace byoc::cuda {

/// The number of threads of a group, and whether they wait for each other.
struct GroupShape {
  uint32_t threads = 1;
  bool has_barriers = false;
};

/// Emits into one function, which returns nothing. Thread-compatible.
class Statements {
 public:
  using Value = llvm::Value*;
  Statements(llvm::Function* function, const llvm_plugin::Machine& machine,
             const llvm_plugin::MemoryPlan& plan, const Roles& roles, const GroupShape& shape,
             bool contract);
  llvm_plugin::Values& values() { return values_; }
  llvm::IRBuilder<>& builder() { return builder_; }
  /// Sets the address of four i64: the number of a failure from 1 on, or 0; its index, low, extent.
  /// The kernel ends at once where there is one already.
  void set_failure(Value address, std::vector<std::string>* ops);
  /// Errors: kUnimplemented for a statement that devices have no code for.
  Status emit(const te::Stmt& stmt);

 private:
  Status emit_loop(const te::For& loop);
  Status emit_groups(const te::For& loop);
  Status emit_threads(const te::For& loop);
  Status emit_serial(const te::For& loop);
  Status emit_if(const te::If& branch);
  Status emit_alloc(const te::Alloc& alloc);
  Status emit_intrinsic(const te::Intrinsic& call);
  Status emit_index_error(const te::Intrinsic& call);
  void emit_mma(const te::Intrinsic& call);
  void emit_exchange(const te::Intrinsic& call);
  llvm::BasicBlock* block(const char* name) { return control_.block(name); }
  auto inner() {
    return [this](const te::Stmt& stmt) { return emit(stmt); };
  }
  Value special(llvm::Intrinsic::ID id);

  llvm::Function* function_;
  const llvm_plugin::MemoryPlan& plan_;
  const Roles& roles_;
  GroupShape shape_;
  llvm::IRBuilder<> builder_;
  llvm_plugin::Ops ops_;
  llvm_plugin::Values values_;
  llvm_plugin::Control control_;
  Value failure_ = nullptr;
  std::vector<std::string>* failures_ = nullptr;
};

}  // namespace byoc::cuda
