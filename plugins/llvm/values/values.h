// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expressions and memory accesses as LLVM values: scalars, or inside a vectorised loop vectors with
// one lane per iteration. A value that does not depend on the loop stays a scalar there too.
#include <optional>
#include <span>
#include <vector>

#include "byoc/base/check.h"
#include "byoc/ir/attrs.h"
#include "plugins/llvm/analysis/memory_plan.h"
#include "plugins/llvm/analysis/ranges.h"
#include "plugins/llvm/values/ops.h"

namespace byoc::llvm_plugin {

class Values {
 public:
  using Value = llvm::Value*;
  Values(Ops& ops, const Machine& machine, const MemoryPlan& plan)
      : ops_(ops), b_(ops.builder()), machine_(machine), plan_(plan), known_(1) {}

  Ranges& ranges() { return ranges_; }
  void bind(const te::Var& var, Value scalar) { bind_id(var.id(), scalar); }
  void bind_id(const void* var, Value scalar) { vars_[var] = {scalar, 0, true}; }
  /// Binds the value as it is, scalar or vector. `value` may be an affine index: its lanes
  /// stay known as such.
  void bind_value(const te::Var& var, const te::Expr& value);
  /// Binds like bind_value, to find out which values depend on it; nothing is emitted.
  void assume(const te::Var& var, const te::Expr& value);
  void unbind(const te::Var& var) { vars_.erase(var.id()); }
  Value bound(const void* var) const;  // null: not bound, or no scalar
  void set_base(const void* tensor, Value address) { bases_[tensor] = address; }
  void forget_base(const void* tensor) { bases_.erase(tensor); }
  Value base(const void* tensor) const;

  /// Makes `var` first, first + 1, ... in `lanes` lanes, until end_lanes.
  void begin_lanes(const te::Var& var, Value first, unsigned lanes);
  void end_lanes();
  unsigned lanes() const { return lanes_; }

  /// Forgets all values computed before, because memory may have changed.
  void begin_statement();
  /// Forgets the values computed until leave_branch: those of one branch.
  void enter_branch() { known_.emplace_back(); }
  void leave_branch() {
    BYOC_CHECK(known_.size() > 1, "a branch is left that was not entered");
    known_.pop_back();
  }
  /// Sets the lanes that load and store, and returns the mask before. null: all do.
  Value set_mask(Value mask) { return std::exchange(mask_, mask); }
  Value mask() const { return mask_; }
  Value mask_and(Value condition);
  Value any_lane(Value mask);

  bool varies(const te::Expr& x);                       // differs between lanes
  std::optional<int64_t> stride_of(const te::Expr& x);  // of an index, from lane to lane
  Value value(const te::Expr& x);                       // scalar or vector
  Value splat(Value x) { return ops_.splat(x, lanes_); }
  void store(const te::Tensor& tensor, const te::Exprs& indices, Value value);
  /// Stores whole vectors where these stores of one tensor, in order, write adjacent elements for
  /// each lane, as y[2 * l] and y[2 * l + 1] do, or a tile of a transpose: what they store must not
  /// read that tensor. Returns false, and stores nothing, where they do not.
  bool store_rows(std::span<const te::Store* const> stores);
  Value address_of(const te::Place& element);

 private:
  struct Binding {
    Value value = nullptr;  // scalar; of an affine one in the first lane; else the vector
    int64_t stride = 0;
    bool is_affine = true;
  };
  struct Place {  // the place of an access
    const Home* home;
    Value base;
    std::optional<int64_t> stride;  // in elements; nullopt: `offset` is a vector
    Value offset;
    int64_t constant;  // to be added to the offset
    bool is_inside;    // certainly
    Ints lanes = {};   // without a stride: of each lane from `offset`, which is a scalar then
  };
  Value make(const te::Expr& x);
  Value make_binary(const te::Binary& x);
  Value silu(const te::Binary& x);
  Value one_and_exp(const te::Binary& x);
  Value number_of_nibble(const te::Binary& x);
  struct Dot;
  Value dot(const te::Expr& x);
  std::pair<Value, Value> operands_of(llvm::Type* of_sum, const Dot& dot, unsigned lane);
  Value with_halves(Value sum, std::span<const Dot> dots, unsigned lane);
  Value with_dot(Value sum, const Dot& dot, unsigned lane, bool are_pairs);
  Value joined_lanes(Value a, Value b);
  Value make_cast(DType to, const te::Expr& x);
  Value make_extremum(const te::Select& x);
  Value make_select(const te::Select& x);
  Value load_or_constant(const te::Select& x, Value condition);
  Value select_by_branch(Value condition, const te::Expr& yes, const te::Expr& no);
  Value value_under(const te::Expr& x, Value condition);
  Value compare_indices(const te::Binary& x, int64_t stride);
  Value lanes_of_binding(const Binding& binding);
  Value first_of(const te::Expr& x);  // the value in the first lane of an affine expression
  std::optional<int64_t> stride_of_division(const te::Binary& x);
  std::optional<Ints> steps_of(const te::Expr& x);
  Value division(const te::Binary& x, Value a, Value b);
  bool is_natural_division(const te::Binary& x) const;
  bool needs_guard(const te::Expr& x);  // loads that may lie outside of their tensor

  Place place(const te::Tensor& tensor, const te::Exprs& indices);
  void place_by(const te::Exprs& indices, const std::vector<int64_t>& steps, Place& at);
  te::Exprs joined(const Home& home, const te::Exprs& indices);
  void add_index(const te::Expr& x, int64_t factor, Place& at);
  Value address(const Place& at, Value offset);
  Value first_element(const Place& at);  // the offset of the first element
  Value load(const te::Load& x);
  Value load_scalar(const Place& at);
  Value load_lanes(const Place& at);
  Value load_contiguous(const Place& at);
  Value load_every_second(const Place& at);
  Value load_window(const Place& at, int64_t extent);
  Value load_reversed(const Place& at);
  void store_scalar(const Place& at, Value value);
  void store_contiguous(const Place& at, Value value);
  void store_lanes(const Place& at, Value value);
  bool fill_rows(std::span<const te::Store* const> stores);
  std::pair<Value, Value> in_turns(Value a, Value b);
  std::vector<Value> interleaved(const std::vector<Value>& from);
  llvm::Align align_of(const Home& home) const;
  Value iota(llvm::Type* type, int64_t stride);

  Ops& ops_;
  llvm::IRBuilder<>& b_;
  const Machine& machine_;
  const MemoryPlan& plan_;
  Ranges ranges_;
  std::unordered_map<const void*, Binding> vars_;
  std::unordered_map<const void*, Value> bases_;
  std::vector<std::unordered_map<const te::ExprNode*, Value>> known_;
  std::unordered_map<const te::ExprNode*, bool> varies_, needs_guard_;
  std::vector<te::Expr> kept_;  // made here: values of an expression are found by its address
  unsigned lanes_ = 0;
  Value mask_ = nullptr;
};

}  // namespace byoc::llvm_plugin
