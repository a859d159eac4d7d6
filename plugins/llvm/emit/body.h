#pragma once
// Statements as LLVM code: one Body per LLVM function, another one for what a parallel loop runs.
#include "byoc/plugin/abi.h"
#include "plugins/llvm/analysis/loop_splitting.h"
#include "plugins/llvm/values/values.h"

namespace byoc::llvm_plugin {

/// What the functions made of one loop function have in common.
struct Unit {
  llvm::Module& module;
  const Machine& machine;
  const MemoryPlan& plan;
  std::string symbol;
  bool contract = true;
  uint32_t parallel_loops = 0;  // made so far
};

/// A function of this unit with all attributes set; internal unless it is the unit's own.
llvm::Function* make_function(Unit& unit, const std::string& name,
                              const std::vector<llvm::Type*>& parameters);

class Body {
 public:
  using Value = llvm::Value*;
  Body(Unit& unit, llvm::Function* function);
  Values& values() { return values_; }
  llvm::IRBuilder<>& builder() { return builder_; }
  /// The addresses that every Body has: byoc_host, the workspace, the slot of this part of a
  /// parallel loop (null outside of one).
  void set_memory(Value host, Value workspace, Value slot) {
    host_ = host, workspace_ = workspace, slot_ = slot;
  }
  /// Errors: kUnimplemented for an intrinsic that is not known.
  Status emit(const te::Stmt& stmt);
  /// `loop` from first to last (not included), counted from its begin.
  Status emit_part(const te::For& loop, Value first, Value last);
  void finish() { builder_.CreateRet(builder_.getInt32(0)); }

 private:
  struct Captures;
  Status emit_for(const te::StmtNode& node, const te::For& loop);
  Status emit_serial(const te::For& loop);
  Status emit_counted(const te::For& loop, Value begin, Value end, bool is_never_empty,
                      Range range);
  Status emit_unrolled(const te::For& loop);
  Status emit_once(const te::For& loop, Value at, Range range);
  Status emit_parts(const te::For& loop, Value begin, const std::vector<Part>& parts);
  Status emit_vectorized(const te::For& loop);
  Status emit_chunk_loop(const te::For& loop, Value begin, int64_t chunks, unsigned lanes);
  Status emit_lanes(const te::For& loop, Value first, unsigned lanes, int64_t factor);
  Status emit_parallel(const te::StmtNode& node, const te::For& loop);
  Status emit_if(const te::If& branch);
  Status emit_masked(const te::If& branch, Value condition);
  Status emit_let(const te::Let& let);
  Status emit_alloc(const te::Alloc& alloc);
  Status emit_intrinsic(const te::Intrinsic& call);
  Status emit_fma_tile(const te::Intrinsic& call);

  bool can_vectorize(const te::Stmt& stmt);
  Range range_of(const te::For& loop);
  llvm::BasicBlock* block(const char* name);
  void mark_loop(llvm::BranchInst* latch);

  Captures capture(const te::For& loop);
  llvm::Function* make_part(const te::For& loop, const Captures& captures, Status& status);
  llvm::Function* make_thunk(llvm::Function* part, const Captures& captures,
                             const ParallelPlan& plan);
  Value store_context(const std::vector<Value>& fields);
  Status run_parts(const Captures& captures, llvm::Function* thunk, Value extent, Value slots,
                   bool with_slots);
  Value grain_of(Value extent, Value context);
  Value host_field(size_t offset, llvm::Type* type);
  void return_if_failed(Value result);

  Unit& unit_;
  llvm::Function* function_;
  llvm::IRBuilder<> builder_;
  Ops ops_;
  Values values_;
  Value host_ = nullptr, workspace_ = nullptr, slot_ = nullptr;
  int64_t copies_ = 1;            // of what is emitted now, by loops in parts
  bool is_parallel_ = false;      // inside a part of a parallel loop
  uint64_t vectors_written_ = 0;  // to tell which loops hold vectors
};

}  // namespace byoc::llvm_plugin
