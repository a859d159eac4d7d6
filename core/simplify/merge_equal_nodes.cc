// SPDX-License-Identifier: Apache-2.0
// Merges nodes that compute the same, and equal constants.
//   before: %0 = relu(%x)
//           %1 = relu(%x)
//           %2 = add(%0, %1)
//   after:  %0 = relu(%x)
//           %1 = add(%0, %0)
//
// Annotations are never merged, so ops that read two compiler_begins of one value have different
// operands and are not merged. Only ops whose operands are all constants could leave their region.
// A direct edge between two ops keeps both in one region, so ops joined by direct edges form a
// block, and the begins and ends at its border name its region. Ops are merged only when their
// blocks are in the same region, or both outside. call_dps_packed stays, as does a call of a
// function that contains one: two calls of an external function need not be equivalent to one.
#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/base/disjoint_sets.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

constexpr int64_t kOutside = std::numeric_limits<int64_t>::min();

// Finds the region number of every op; kOutside for other nodes.
class Regions {
 public:
  explicit Regions(const Function& function) : function_(function), blocks_(function.nodes.size()) {
    region_.assign(function.nodes.size(), kOutside);
    for (uint32_t k = 0; k < region_.size(); ++k) {
      for (ValueId arg : function.args(function.nodes[k])) join(arg.node, k);
    }
    for (uint32_t k = 0; k < region_.size(); ++k) {
      for (ValueId arg : function.args(function.nodes[k])) name(arg.node, k);
    }
  }
  int64_t operator()(uint32_t node) { return region_[blocks_.find(node)]; }

 private:
  bool is_op(uint32_t node) const {
    const Node& n = function_.nodes[node];
    return !std::holds_alternative<Param>(n.kind) && !is_constant(n) && !is_annotation(n);
  }
  void join(uint32_t from, uint32_t to) {
    if (is_op(from) && is_op(to)) blocks_.join(from, to);
  }
  void name(uint32_t from, uint32_t to) {
    const Node &source = function_.nodes[from], &reader = function_.nodes[to];
    if (is_op(to) && is_begin(source)) region_[blocks_.find(to)] = region_number(source);
    if (is_op(from) && is_end(reader)) {
      region_[blocks_.find(from)] = region_number(reader);
    }
  }
  static int64_t region_number(const Node& annotation) {
    return std::get<Call>(annotation.kind).attrs->i("region");
  }

  const Function& function_;
  DisjointSets blocks_;
  std::vector<int64_t> region_;  // of a block, at its root
};

size_t mix(size_t hash, size_t value) {
  return (hash ^ value) * size_t{0x9e3779b97f4a7c15} + (hash >> 29);
}

class Merger {
 public:
  Merger(const Function& function, const std::set<Symbol>& reaches_extern)
      : rewriter_(function), regions_(function), reaches_extern_(reaches_extern) {
    seen_.reserve(function.nodes.size());
  }
  Function run() &&;

 private:
  struct Hash {
    const Merger* merger;
    size_t operator()(uint32_t node) const { return merger->hash(node); }
  };
  struct Equal {
    const Merger* merger;
    bool operator()(uint32_t a, uint32_t b) const { return merger->is_equal(a, b); }
  };
  bool may_merge(const Node& node) const;
  size_t hash(uint32_t node) const;
  bool is_equal(uint32_t a, uint32_t b) const;
  void drop_last();

  Rewriter rewriter_;
  Function& to_ = rewriter_.to();
  Regions regions_;
  const std::set<Symbol>& reaches_extern_;
  std::vector<int64_t> region_of_;  // of the new nodes
  std::unordered_set<uint32_t, Hash, Equal> seen_{64, Hash{this}, Equal{this}};
};

bool Merger::may_merge(const Node& node) const {
  return std::visit(
      overloaded{
          [](const Param&) { return false; },
          [](const Constant&) { return true; },
          [](const Call& call) { return !call.op->is_annotation; },
          [&](const Invoke& invoke) { return !reaches_extern_.contains(invoke.function); },
          [](const Extern&) { return false; },
          [](const Control&) { return false; },
      },
      node.kind);
}

size_t Merger::hash(uint32_t index) const {
  const Node& node = to_.nodes[index];
  size_t hash = mix(node.kind.index(), static_cast<size_t>(region_of_[index]));
  if (auto* constant = std::get_if<Constant>(&node.kind)) {
    hash = mix(mix(hash, std::hash<const void*>()(constant->data)), node.types[0].id());
  }
  if (auto* call = std::get_if<Call>(&node.kind)) {
    hash =
        mix(mix(hash, std::hash<const void*>()(call->op)), std::hash<const void*>()(call->attrs));
  }
  if (auto* invoke = std::get_if<Invoke>(&node.kind)) hash = mix(hash, invoke->function.id());
  for (ValueId arg : to_.args(node)) hash = mix(mix(hash, arg.node), arg.output);
  return hash;
}

bool Merger::is_equal(uint32_t a, uint32_t b) const {
  const Node &x = to_.nodes[a], &y = to_.nodes[b];
  if (region_of_[a] != region_of_[b] || x.kind.index() != y.kind.index() || x.types != y.types)
    return false;
  if (auto* constant = std::get_if<Constant>(&x.kind)) {
    return constant->data == std::get<Constant>(y.kind).data;
  }
  if (auto* call = std::get_if<Call>(&x.kind)) {
    const Call& other = std::get<Call>(y.kind);
    if (call->op != other.op || call->attrs != other.attrs) return false;
  }
  if (auto* invoke = std::get_if<Invoke>(&x.kind)) {
    if (invoke->function != std::get<Invoke>(y.kind).function) return false;
  }
  return std::ranges::equal(to_.args(x), to_.args(y));
}

void Merger::drop_last() {
  to_.operands.resize(to_.operands.size() - to_.args(to_.nodes.back()).size());
  to_.nodes.pop_back();
  region_of_.pop_back();
}

Function Merger::run() && {
  for (uint32_t k = 0; k < rewriter_.from().nodes.size(); ++k) {
    uint32_t now = rewriter_.copy(k);
    region_of_.push_back(regions_(k));
    BYOC_CHECK(region_of_.size() == to_.nodes.size(), "node ", now, " has no region");
    if (!may_merge(rewriter_.from().nodes[k])) continue;
    auto [at, is_new] = seen_.insert(now);
    if (is_new) continue;
    drop_last();
    rewriter_.replace(k, *at);
  }
  return std::move(rewriter_).finish();
}

bool makes_extern_call(const Function& function, const std::set<Symbol>& reaches_extern) {
  for (const Node& node : function.nodes) {
    if (std::holds_alternative<Extern>(node.kind)) return true;
    for (Symbol callee : callees(node)) {
      if (reaches_extern.contains(callee)) return true;
    }
  }
  return false;
}

}  // namespace

Result<IRModule> merge_equal_nodes(IRModule module, const PassContext&) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module));
  std::set<Symbol> reaches_extern;
  for (Symbol name : order) {
    Function& function = module.function(name);
    if (makes_extern_call(function, reaches_extern)) reaches_extern.insert(name);
    if (!is_settled(function)) function = Merger(function, reaches_extern).run();
  }
  return module;
}

}  // namespace byoc
