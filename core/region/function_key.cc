// SPDX-License-Identifier: Apache-2.0
#include "core/region/function_key.h"

#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"

namespace byoc {
namespace {

/// The numbers that invoked functions have in a key.
using Callees = std::unordered_map<Symbol, uint64_t>;

class Key {
 public:
  explicit Key(std::string& out, const Callees* callees = nullptr) : out_(out), callees_(callees) {}
  void add(uint64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add_body(const Function& function, Locs locs);

 private:
  void add(const void* interned) { add(reinterpret_cast<uintptr_t>(interned)); }
  void add(ValueId value) { add(uint64_t{value.node} << 32 | value.output); }
  void add_kind(const Kind& kind);

  std::string& out_;
  const Callees* callees_;  // null: functions are named by their symbols
};

void Key::add_kind(const Kind& kind) {
  add(uint64_t{kind.index()});
  std::visit(overloaded{
                 [](const Param&) {},
                 [&](const Constant& constant) { add(constant.data); },
                 [&](const Call& call) {
                   add(call.op);
                   add(call.attrs);
                 },
                 [&](const Invoke& invoke) {
                   add(callees_ ? callees_->at(invoke.function) : invoke.function.id());
                 },
                 [&](const Extern& external) { add(uint64_t{external.symbol.id()}); },
                 [&](const Control& control) {
                   add(uint64_t{control.action} << 32 | control.carried);
                   add(uint64_t{control.body.id()} << 32 | control.otherwise.id());
                 },
             },
             kind);
}

void Key::add_body(const Function& function, Locs locs) {
  add(uint64_t{function.nodes.size()});
  for (const Node& node : function.nodes) {
    add_kind(node.kind);
    std::span<const ValueId> args = function.args(node);
    add(uint64_t{args.size()} << 32 | node.types.size());
    for (ValueId arg : args) add(arg);
    for (size_t k = 0; k < node.types.size(); ++k) add(uint64_t{node.types[k].id()});
    if (locs == Locs::kCompared) add(uint64_t{node.loc.id()});
  }
  for (ValueId result : function.results) add(result);
}

// Returns the functions that `region` invokes, directly or not, callees before callers.
std::vector<Symbol> invoked_by(const IRModule& module, const Function& region) {
  std::vector<Symbol> out;
  std::unordered_set<Symbol> seen;
  for (const Node& node : region.nodes) {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr || seen.contains(invoke->function)) continue;
    auto order = callees_first(module, invoke->function);
    BYOC_CHECK(order.ok(), order.status().message());
    for (Symbol name : *order) {
      if (seen.insert(name).second) out.push_back(name);
    }
  }
  return out;
}

}  // namespace

std::string function_key(const Function& function, Locs locs) {
  std::string out;
  Key(out).add_body(function, locs);
  print_to(out, function.attrs);
  return out;
}

// Invoked functions are numbered by their bodies in order of first use. Each body follows its size,
// and the region's own body comes last.
std::string region_key(const IRModule& module, const Function& region) {
  Callees callees;
  std::unordered_map<std::string, uint64_t> bodies;
  std::string out = region.attr("compiler") + '\0' + region.attr("compute") + '\0';
  Key key(out, &callees);
  for (Symbol name : invoked_by(module, region)) {
    const Function& callee = module.function(name);
    std::string body;
    Key(body, &callees).add_body(callee, Locs::kIgnored);
    print_to(body, callee.attrs);
    auto [at, is_new] = bodies.try_emplace(std::move(body), bodies.size());
    callees.emplace(name, at->second);
    if (!is_new) continue;
    key.add(uint64_t{at->first.size()});
    out += at->first;
  }
  key.add_body(region, Locs::kIgnored);
  return out;
}

}  // namespace byoc
