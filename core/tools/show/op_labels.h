// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives every op of a model a unique loc, by which the ops that passes make from it can be found.
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::driver {

/// An op of the user's model; `name` is its loc there.
struct ModelOp {
  Symbol op, name;
};

class OpLabels {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// Changes locs so that no op shares its loc with another node of any function. An op keeps its
  /// loc unless an earlier op, or a node without an op, has it; then it gets a number after a "#".
  /// Cost: O(nodes).
  IRModule label(IRModule module);
  /// Returns the index in ops() of the op that label() gave this loc, or kNone.
  uint32_t find(Symbol loc) const { return loc.id() < by_loc_.size() ? by_loc_[loc.id()] : kNone; }
  const std::vector<ModelOp>& ops() const { return ops_; }

 private:
  std::vector<ModelOp> ops_;
  std::vector<uint32_t> by_loc_;  // index: a Symbol's id
};

/// Returns the op of a node; null for annotations and for nodes that are not a Call.
const OpDef* op_of(const Node& node);
/// Returns the loops that a node calls in the place of an op of a library; null for other nodes.
const Function* library_loops_of(const IRModule& module, const Node& node);

}  // namespace byoc::driver
