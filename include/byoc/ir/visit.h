// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks and rebuilds functions: one lambda per node kind, and a copy with a map from old values
// to new.
#include <array>

#include "byoc/ir/module.h"

namespace byoc {

/// std::visit(overloaded{[](const Param&) {...}, ...}, node.kind): no catch-all, so that a new kind
/// stops the build wherever it is forgotten.
template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;  ///< Deduces the lambdas' types.

/// Copies a function node by node. `map(old)` is the value that replaces the old one.
class Rewriter {
 public:
  /// Starts an empty function; `from` must outlive the Rewriter.
  explicit Rewriter(const Function& from);
  Function& to() { return to_; }                  ///< the new function
  const Function& from() const { return from_; }  ///< the old function
  /// The new value of an old one; it must have been set.
  ValueId map(ValueId old) const { return map_[first_[old.node] + old.output]; }
  /// Sets the new value of an old one.
  void set(ValueId old, ValueId now) { map_[first_[old.node] + old.output] = now; }
  std::vector<ValueId> map(std::span<const ValueId> olds) const;  ///< the new values of old ones
  std::vector<ValueId> mapped_args(uint32_t old_node) const;  ///< the new operands of an old node
  /// Copies old node `index` with mapped args and maps its outputs; returns the new node's number.
  uint32_t copy(uint32_t index);
  /// Maps every output of old node `index` to the outputs of new node `now`.
  void replace(uint32_t index, uint32_t now);
  /// Maps the results, keeps the attributes, and moves the function out.
  Function finish() &&;

 private:
  const Function& from_;
  Function to_;
  std::vector<uint32_t> first_;  // of each old node, into map_
  std::vector<ValueId> map_;
};

/// Counts the reads of each value, by operands and results: CSR over (node, output).
class UseCounts {
 public:
  /// Counts the readers of each value. Cost: O(nodes + operands).
  explicit UseCounts(const Function& function);
  /// The readers of one value, results of the function included.
  uint32_t operator()(ValueId value) const { return counts_[first_[value.node] + value.output]; }
  uint32_t of_node(uint32_t node) const;  ///< sum over its outputs

 private:
  std::vector<uint32_t> first_, counts_;
};

/// Returns the functions that the node names: the callee, or the bodies. The second one is empty
/// when there are fewer.
std::array<Symbol, 2> callees(const Node& node);
/// Returns the names of the functions that `root` reaches by Invoke and Control, callees before
/// callers. Iterative. Errors: kInvalidArgument: no such function; recursion (the chain).
Result<std::vector<Symbol>> callees_first(const IRModule& module, Symbol root);
/// Returns the open sizes in the types of the function and of the composites that it invokes, by
/// name. A run gives them to the function's kernel in this order.
std::vector<Dim> open_sizes(const IRModule& module, const Function& function);
/// Returns all functions of the module, callees before callers.
Result<std::vector<Symbol>> callees_first(const IRModule& module);

}  // namespace byoc
