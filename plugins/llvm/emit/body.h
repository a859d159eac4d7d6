// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits statements as LLVM IR: one Body per LLVM function. The body of a parallel loop is a
// function of its own.
#include <array>
#include <functional>

#include "byoc/plugin/abi.h"
#include "plugins/llvm/analysis/loop_splitting.h"
#include "plugins/llvm/emit/control.h"

namespace byoc::llvm_plugin {

/// The state that all LLVM functions of one loop function share.
struct Unit {
  llvm::Module& module;
  const Machine& machine;
  const MemoryPlan& plan;
  std::string symbol;
  bool contract = true;
  bool shares_all = false;          // EmitOptions
  uint32_t parallel_loops = 0;      // emitted so far
  bool has_tiles = false;           // a byte_tiles was emitted
  std::vector<te::Var> sizes = {};  // in the order of byoc_native_call.sizes
};

/// Adds a function with all attributes to this unit; internal unless `name` is the unit's symbol.
llvm::Function* make_function(Unit& unit, const std::string& name,
                              const std::vector<llvm::Type*>& parameters);

class Body {
 public:
  using Value = llvm::Value*;
  Body(Unit& unit, llvm::Function* function);
  Values& values() { return values_; }
  llvm::IRBuilder<>& builder() { return builder_; }
  /// Sets the addresses that every Body uses: byoc_host, the workspace, and the slot of this range
  /// of a parallel loop (null outside of one).
  void set_memory(Value host, Value workspace, Value slot) {
    host_ = host, workspace_ = workspace, slot_ = slot;
  }
  /// Sets the address of the byoc_native_call: there is none in a parallel loop.
  void set_call(Value call) { call_ = call; }
  /// Loads the sizes of the run from the call.
  void bind_sizes();
  /// Emits `stmt`. Errors: kUnimplemented for an unknown intrinsic.
  Status emit(const te::Stmt& stmt);
  /// Emits the iterations [first, last) of `loop`, counted from its begin.
  Status emit_range(const te::For& loop, Value first, Value last);
  void finish() { builder_.CreateRet(builder_.getInt32(0)); }

 private:
  struct Captures;
  Value bytes_after(Value base, const te::Expr& offset);
  Status emit_block(const te::Block& block);
  size_t emit_rows(std::span<const te::Stmt> stmts);
  std::optional<te::For> in_turns(const te::For& loop) const;
  Status emit_for(const te::StmtNode& node, const te::For& loop);
  Status emit_serial(const te::For& loop);
  Status emit_counted(const te::For& loop, Value begin, Value end, bool is_never_empty,
                      Range range);
  Status emit_unrolled(const te::For& loop);
  Status emit_once(const te::For& loop, Value at, Range range);
  Status emit_split(const te::For& loop, Value begin, const std::vector<LoopRange>& ranges);
  Status emit_vectorized(const te::For& loop);
  Status emit_vectorized_parts(const te::For& loop, const std::vector<LoopRange>& parts);
  Status emit_chunk_loop(const te::For& loop, Value begin, int64_t chunks, unsigned lanes);
  Status emit_lanes(const te::For& loop, Value first, unsigned lanes, int64_t factor);
  Status emit_parallel(const te::StmtNode& node, const te::For& loop);
  Status emit_if(const te::If& branch);
  Status emit_masked(const te::If& branch, Value condition);
  Status emit_let(const te::Let& let);
  Status emit_alloc(const te::Alloc& alloc);
  Status emit_intrinsic(const te::Intrinsic& call);
  Status emit_fma_tile(const te::Intrinsic& call);
  Status emit_byte_tiles(const te::Intrinsic& call);
  void repeat_moving(int64_t times, std::array<Value, 2> from, std::array<int64_t, 2> steps,
                     const std::function<void(Value, Value)>& body);
  Status emit_prefetch(const te::Place& place);
  Status emit_copy(const te::Intrinsic& call);
  Status emit_index_error(const te::Intrinsic& error);

  bool can_vectorize(const te::Stmt& stmt);
  Range range_of(const te::For& loop) { return control_.range_of(loop); }
  llvm::BasicBlock* block(const char* name) { return control_.block(name); }
  auto inner() {
    return [this](const te::Stmt& stmt) { return emit(stmt); };
  }
  void mark_loop(llvm::BranchInst* latch);

  Captures capture(const te::For& loop);
  llvm::Function* make_range_function(const te::For& loop, const Captures& captures,
                                      Status& status);
  llvm::Function* make_thunk(llvm::Function* range, const Captures& captures,
                             const ParallelPlan& plan);
  Value store_context(const std::vector<Value>& fields);
  Status run_parallel(const Captures& captures, llvm::Function* thunk, const te::For& loop,
                      Value extent, Value slots, const ParallelPlan& plan);
  // The iterations of a loop with slots, in `count` pieces.
  struct Pieces {
    Value extent, count, is_by_worker, slot_bytes;
  };
  Value workers();
  uint64_t least_share_of(const te::For& loop);
  Value grain_of(const Pieces& pieces, Value workers, uint64_t least, bool has_slots);
  Pieces pieces_of(Value extent, Value workers, const ParallelPlan& plan);
  // Emits the body of a thunk: calls `range` for the pieces from its argument 1 to argument 2.
  void call_pieces(llvm::Function* range, std::vector<Value> arguments, const Pieces& pieces);
  Value host_field(size_t offset, llvm::Type* type);
  void return_if_failed(Value result);

  Unit& unit_;
  llvm::Function* function_;
  llvm::IRBuilder<> builder_;
  Ops ops_;
  Values values_;
  Control control_;
  Value host_ = nullptr, workspace_ = nullptr, slot_ = nullptr, call_ = nullptr;
  int64_t copies_ = 1;            // of the current statement, because of loops that are split
  bool is_parallel_ = false;      // inside a range of a parallel loop
  uint64_t vectors_written_ = 0;  // shows which loops hold vectors
};

}  // namespace byoc::llvm_plugin
