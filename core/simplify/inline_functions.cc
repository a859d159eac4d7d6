// SPDX-License-Identifier: Apache-2.0
// Replaces calls of plain functions by their bodies.
//   before: fn main(%x) {
//             %0 = @twice(%x)
//             return %0
//           }
//           fn twice(%x) {
//             %0 = add(%x, %x)
//             return %0
//           }
//   after:  fn main(%x) {
//             %0 = add(%x, %x)
//             return %0
//           }
// Functions with `compiler` or `composite` stay, but the functions that they call are inlined into
// them. A body with annotations keeps its regions: a number that its caller has already used
// becomes the next free one, so that two calls never become one region. Functions that are no
// longer reachable are removed.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

// A limit for functions that call each other twice, whose size doubles at every level. No real
// model has this many nodes.
constexpr uint64_t kMaxNodes = uint64_t{1} << 26;

// The functions of a module by what happens to them, so that no call needs a search by name.
struct Kinds {
  std::unordered_set<Symbol> units, settled;

  explicit Kinds(const IRModule& module) {
    for (const auto& [name, function] : module.functions) {
      if (is_unit(function)) units.insert(name);
      if (is_settled(function)) settled.insert(name);
    }
  }
  bool is_inlined(const Node& node) const {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    return invoke != nullptr && !units.contains(invoke->function);
  }
};

int64_t region_of(const Node& annotation) {
  return std::get<Call>(annotation.kind).attrs->i("region");
}

std::set<int64_t> regions_of(const Function& function) {
  std::set<int64_t> out;
  for (const Node& node : function.nodes) {
    if (is_annotation(node)) out.insert(region_of(node));
  }
  return out;
}

// Rewrites one caller; its callees have been rewritten before.
class Inliner {
 public:
  Inliner(const IRModule& module, const Kinds& kinds, const Function& function)
      : module_(module), kinds_(kinds), rewriter_(function), taken_(regions_of(function)) {}
  Function run() &&;

 private:
  void inline_call(uint32_t index);
  Node renumbered(const Node& annotation, std::map<int64_t, int64_t>& regions);

  const IRModule& module_;
  const Kinds& kinds_;
  Rewriter rewriter_;
  std::set<int64_t> taken_;  // region numbers of the new function
  int64_t free_ = 0;         // smaller ones are in use
};

Node Inliner::renumbered(const Node& annotation, std::map<int64_t, int64_t>& regions) {
  int64_t region = region_of(annotation);
  auto [at, is_new] = regions.try_emplace(region, region);
  if (is_new && !taken_.insert(region).second) {
    while (!taken_.insert(free_).second) ++free_;
    at->second = free_;
  }
  if (at->second == region) return annotation;
  Node out = annotation;
  Call& call = std::get<Call>(out.kind);
  Attrs attrs = *call.attrs;
  attrs.set("region", at->second);
  call.attrs = intern(std::move(attrs));
  return out;
}

void Inliner::inline_call(uint32_t index) {
  const Node& call = rewriter_.from().nodes[index];
  const Function& callee = module_.function(std::get<Invoke>(call.kind).function);
  std::vector<ValueId> args = rewriter_.mapped_args(index), mapped;
  BYOC_CHECK(args.size() == callee.num_params() && callee.results.size() == call.types.size(),
             "a call that verify refuses: ", args.size(), " arguments");
  std::vector<uint32_t> now(callee.nodes.size());
  std::map<int64_t, int64_t> regions;
  auto map = [&](ValueId v) {
    return v.node < args.size() ? args[v.node] : ValueId{now[v.node], v.output};
  };
  for (size_t k = args.size(); k < callee.nodes.size(); ++k) {
    const Node& node = callee.nodes[k];
    mapped.clear();
    for (ValueId arg : callee.args(node)) mapped.push_back(map(arg));
    now[k] =
        rewriter_.to().add_copy(is_annotation(node) ? renumbered(node, regions) : node, mapped);
    Node& copy = rewriter_.to().nodes[now[k]];
    if (copy.loc.empty() && !is_constant(copy)) copy.loc = call.loc;
  }
  for (uint32_t k = 0; k < callee.results.size(); ++k)
    rewriter_.set({index, k}, map(callee.results[k]));
}

Function Inliner::run() && {
  for (uint32_t k = 0; k < rewriter_.from().nodes.size(); ++k) {
    if (kinds_.is_inlined(rewriter_.from().nodes[k])) inline_call(k);
    else rewriter_.copy(k);
  }
  return std::move(rewriter_).finish();
}

// Checks the number of nodes that every function of `order` will have, before any call is inlined.
Status check_sizes(const IRModule& module, const Kinds& kinds, const std::vector<Symbol>& order) {
  std::unordered_map<Symbol, uint64_t> sizes;
  for (Symbol name : order) {
    uint64_t size = 0;
    for (const Node& node : module.function(name).nodes) {
      size += kinds.is_inlined(node) ? sizes.at(std::get<Invoke>(node.kind).function) : 1;
      if (size <= kMaxNodes) continue;
      return Status(Code::kResourceExhausted, cat("@", name, " would have more than ", kMaxNodes,
                                                  " nodes once the functions it calls are inlined"))
          .with_slug("inline-size");
    }
    sizes.emplace(name, size);
  }
  return {};
}

}  // namespace

Result<IRModule> inline_functions(IRModule module, const PassContext&) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  const Kinds kinds(module);
  std::vector<Symbol> callers = order;
  std::erase_if(callers, [&](Symbol name) { return kinds.settled.contains(name); });
  BYOC_TRY_STATUS(check_sizes(module, kinds, callers));
  bool has_changed = false;
  for (Symbol name : callers) {
    Function& function = module.function(name);
    auto is_inlined = [&](const Node& node) { return kinds.is_inlined(node); };
    if (std::ranges::none_of(function.nodes, is_inlined)) continue;
    function = Inliner(module, kinds, function).run();
    has_changed = true;
  }
  if (has_changed) {
    BYOC_TRY(order, callees_first(module, module.entry));
  }
  keep_functions(module, order);
  return module;
}

}  // namespace byoc
