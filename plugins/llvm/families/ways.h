// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds ways between ops of a function through elementwise ops that nothing else reads.
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::llvm_plugin {

/// A function, with the readers of each node. Thread-compatible.
class Ways {
 public:
  /// The nodes from the producer of a value back to the end of the way.
  using Way = std::vector<uint32_t>;

  /// Finds readers. Cost: linear. The function outlives this.
  explicit Ways(const Function& function);

  const Function& function() const { return function_; }
  const Call* call(uint32_t node) const { return std::get_if<Call>(&function_.nodes[node].kind); }
  std::span<const ValueId> operands(uint32_t node) const {
    return function_.args(function_.nodes[node]);
  }
  TypeId type(uint32_t node) const { return function_.nodes[node].types[0]; }
  /// Returns the nodes that read a node, one entry per operand; UINT32_MAX for a result.
  std::span<const uint32_t> readers(uint32_t node) const;
  /// Returns true for a call of the op `name` with one result, of f32; dims may be open.
  bool is_op(uint32_t node, std::string_view name) const;
  /// Returns the way from a value that has one reader back to a node for which `is_end` is true,
  /// through ops that compute each element from one of each operand, all of the value's type, and
  /// of which nothing else is read. Looks at 16 nodes at most. Values on the way have one reader
  /// each, or with `may_fork` several, as in x * sigmoid(x).
  std::optional<Way> way_back(ValueId from, const std::function<bool(uint32_t)>& is_end,
                              bool may_fork = false) const;

 private:
  bool passes_on(uint32_t node) const;
  std::optional<Way> closed_way(const Way& met, uint32_t end) const;

  const Function& function_;
  std::vector<uint32_t> first_reader_;  // per node: its readers in readers_ begin there
  std::vector<uint32_t> readers_;
};

}  // namespace byoc::llvm_plugin
