// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rewrites a function into blocks of channels, one node at a time.
#include <span>
#include <vector>

#include "byoc/op/registry.h"
#include "core/region/judge.h"

namespace byoc {

/// The new function holds a value of the old one plain, with its channels in blocks, or in several
/// of these forms; a layout_transform is added where an op reads a form that is missing.
///
/// A node is rewritten in an attempt: begin(), the calls that add its ops, commit(). Each op is
/// judged by the plugin of the attempt, and commit() takes all of them back when it refuses one.
/// Moves of constants are not judged: fold_constants computes them before any plugin sees them.
/// Cost: O(ops added), whether they stay or not.
class BlockedFunction {
 public:
  /// `blocks`: every block size that attempts may use.
  BlockedFunction(const Function& from, std::vector<int64_t> blocks, const OpRegistry& ops,
                  Judge& judge);
  const Function& from() const { return from_; }

  void begin(const Plugin& plugin);
  bool commit();
  /// Adds the node as it is, on plain operands.
  void copy(uint32_t node);
  Function finish() &&;

  /// Adds an op on values of the new function. When an op is refused, it and all later ops are not
  /// added; the value returned then is only valid as an argument of functions of this class.
  ValueId add(std::string_view op, Attrs attrs, std::vector<ValueId> args, Symbol loc);
  /// Returns true for types of constants that fold_constants makes; larger ones stay ops.
  static bool can_fold(TypeId type);
  /// Adds a layout_transform or a reshape.
  ValueId move(std::string_view op, Attrs attrs, ValueId arg, Symbol loc);
  /// Return `old`, a value of the old function, in one form: plain, or in blocks of `block`.
  ValueId plain(ValueId old);
  ValueId packed(ValueId old, int64_t block);
  void set_plain(uint32_t node, ValueId now);
  /// Sets the result of `node` to `now`, in blocks. The attempt fails when the plugin refuses the
  /// op that makes `now` plain again, because later nodes may need it.
  void set_packed(uint32_t node, ValueId now, int64_t block);

  bool has_plain(ValueId old) const { return forms_[slot(old)] != kNowhere; }
  /// Returns the first of `blocks` in which `old` is available, or 0.
  int64_t block_of(ValueId old, std::span<const int64_t> blocks) const;

 private:
  static constexpr ValueId kNowhere{UINT32_MAX, UINT32_MAX};
  struct Op {
    const OpDef* def;
    const Attrs* attrs;
    std::vector<TypeId> types;
  };
  Result<Op> infer(std::string_view op, Attrs attrs, std::span<const ValueId> args) const;
  Op unpack(ValueId now) const;
  bool is_taken(const Op& op, std::span<const ValueId> args) const;
  ValueId append(const Op& op, std::span<const ValueId> args, Symbol loc,
                 const Buffer* known = nullptr);
  const Buffer* fold(const Op& op, ValueId arg);
  void set(size_t slot, ValueId now);
  size_t slot(ValueId old, int64_t block = 0) const;

  const Function& from_;
  const std::vector<int64_t> blocks_;
  const OpRegistry& ops_;
  Judge& judge_;
  std::vector<uint32_t> first_;  // of an old node's values, by node
  std::vector<ValueId> forms_;   // by old value: plain, then in each of blocks_
  Function to_;
  std::vector<const Buffer*> known_;  // by new node: its value after fold_constants, or null
  std::vector<std::shared_ptr<const Buffer>> folded_;  // owns some of them
  // The attempt: its first node and operand, the forms that it set, and whether an op was refused.
  const Plugin* plugin_ = nullptr;
  size_t first_node_ = 0, first_operand_ = 0;
  std::vector<size_t> set_;
  bool is_refused_ = false;
};

}  // namespace byoc
