// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/op_labels.h"

#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/extend/loops.h"
#include "byoc/op/op.h"

namespace byoc::driver {
namespace {

/// Makes unique locs. Holds the locs in use, and the last number that was tried for each.
class UniqueLocs {
 public:
  explicit UniqueLocs(const IRModule& module) {
    for (const auto& [name, function] : module.functions) {
      for (const Node& node : function.nodes) {
        seen_.insert(node.loc.id());
        if (op_of(node) == nullptr) given_.insert(node.loc.id());
      }
    }
  }

  Symbol unique(Symbol loc) {
    if (given_.insert(loc.id()).second) return loc;
    uint32_t& number = numbers_[loc.id()];
    Symbol numbered;
    do numbered = cat(loc, "#", ++number);
    while (!seen_.insert(numbered.id()).second);
    return numbered;
  }

 private:
  std::unordered_set<uint32_t> seen_;   // all locs, given or not
  std::unordered_set<uint32_t> given_;  // locs that already belong to one node
  std::unordered_map<uint32_t, uint32_t> numbers_;
};

}  // namespace

const Function* library_loops_of(const IRModule& module, const Node& node) {
  const auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke == nullptr ? nullptr : module.find(invoke->function);
  return callee != nullptr && callee->attrs.has(kLibraryOpAttr) ? callee : nullptr;
}

const OpDef* op_of(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && !call->op->is_annotation ? call->op : nullptr;
}

IRModule OpLabels::label(IRModule module) {
  UniqueLocs locs(module);
  for (auto& [name, function] : module.functions) {
    for (Node& node : function.nodes) {
      const OpDef* op = op_of(node);
      if (op == nullptr) continue;
      Symbol user_name = node.loc;
      node.loc = locs.unique(user_name);
      if (node.loc.id() >= by_loc_.size()) by_loc_.resize(node.loc.id() + 1, kNone);
      BYOC_CHECK(by_loc_[node.loc.id()] == kNone, "two ops have the loc ", node.loc);
      by_loc_[node.loc.id()] = static_cast<uint32_t>(ops_.size());
      ops_.push_back({op->name, user_name});
    }
  }
  return module;
}

}  // namespace byoc::driver
