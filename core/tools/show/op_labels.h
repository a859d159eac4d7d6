// SPDX-License-Identifier: Apache-2.0
#pragma once
// A loc of its own for every op of a model: what passes make of an op can then be traced back to it.
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::driver {

/// An op as the user's model has it; `name` is its loc there.
struct ModelOp {
  Symbol op, name;
};

class OpLabels {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// Changes locs so that no op shares its loc with another node of any function. An op whose loc is
  /// unique keeps it; so does the first of several, and the others get a number after a "#".
  /// Cost: O(nodes).
  IRModule label(IRModule module);
  /// Returns the index in ops() of the op that label() gave this loc, or kNone.
  uint32_t find(Symbol loc) const { return loc.id() < by_loc_.size() ? by_loc_[loc.id()] : kNone; }
  const std::vector<ModelOp>& ops() const { return ops_; }

 private:
  std::vector<ModelOp> ops_;
  std::vector<uint32_t> by_loc_;  // index: a Symbol's id
};

/// The op of a node that computes something: null for annotations and for all that is no Call.
const OpDef* op_of(const Node& node);

}  // namespace byoc::driver
