// SPDX-License-Identifier: Apache-2.0
// Moves constant arguments of a function with `compiler` into that function, so that its plugin
// sees them.
//   before: fn main(%x, %w) {
//             %c = const<..>
//             %0 = @conv_relu(%x, %c)
//             %1 = @conv_relu(%0, %w)
//             return %1
//           }
//   after:  fn main(%x, %w) {
//             %0 = @conv_relu_1(%x)
//             %1 = @conv_relu(%0, %w)
//             return %1
//           }
//           fn conv_relu_1(%x) {compiler="onednn"} {
//             %w = const<..>
//             ...
//           }
// There is one copy per distinct set of constants. The form with run-time arguments keeps the name.
// When no call uses that form, a single copy keeps the name; when there are several copies, the
// name is removed. The callers' constants become dead and are left to eliminate_dead_code.
// A function with another `global_symbol` gets that as its name before.
#include "byoc/base/check.h"
#include "byoc/ir/external_symbols.h"
#include "byoc/pass/bind.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

struct Site {
  Symbol caller;
  uint32_t node;
};
struct Variant {
  BoundParams bound;  // empty: the form with run-time arguments
  std::vector<Site> sites;
};

// All calls of one function, grouped by their constant arguments, in the order of first use.
class Calls {
 public:
  void add(BoundParams bound, Site site) {
    Key key;
    for (const auto& [param, constant] : bound) {
      key.push_back({param, {constant.first->key(), constant.second.id()}});
    }
    auto [at, is_new] = index_.try_emplace(std::move(key), variants_.size());
    if (is_new) variants_.push_back({std::move(bound), {}});
    variants_[at->second].sites.push_back(site);
  }
  std::span<const Variant> variants() const { return variants_; }

 private:
  using Key = std::vector<std::pair<uint32_t, std::pair<ContentKey, uint32_t>>>;
  std::map<Key, size_t> index_;
  std::vector<Variant> variants_;
};

class Binder {
 public:
  explicit Binder(IRModule& module) : module_(module), fresh_(module) {}
  void run(const std::vector<Symbol>& callees_first);

 private:
  struct Target {
    Symbol name;
    const BoundParams* bound;
  };
  void find_calls(Symbol caller);
  std::vector<Symbol> make_variants(Symbol name);
  void redirect(Symbol caller, const std::map<uint32_t, Target>& targets);

  IRModule& module_;
  FreshNames fresh_;
  std::map<Symbol, Calls> calls_;                         // by callee
  std::map<Symbol, std::map<uint32_t, Target>> targets_;  // by caller and node
};

void Binder::find_calls(Symbol caller) {
  const Function& function = module_.function(caller);
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    auto* invoke = std::get_if<Invoke>(&function.nodes[k].kind);
    if (invoke == nullptr) continue;
    const Function& callee = module_.function(invoke->function);
    if (is_settled(callee) || !callee.attrs.has("compiler")) continue;
    BoundParams bound;
    auto args = function.args(invoke->args);
    for (uint32_t param = 0; param < args.size(); ++param) {
      auto* constant = std::get_if<Constant>(&function.nodes[args[param].node].kind);
      if (constant) bound[param] = {constant->data, function.type(args[param])};
    }
    calls_[invoke->function].add(std::move(bound), {caller, k});
  }
}

// Replaces function `name` by one function per distinct set of constants. Returns their names.
std::vector<Symbol> Binder::make_variants(Symbol name) {
  auto at = calls_.find(name);
  if (at == calls_.end()) return {name};
  const Calls& calls = at->second;
  bool keeps_name = calls.variants().size() == 1;
  Function original = std::move(module_.function(name));
  module_.functions.erase(name);
  std::vector<Symbol> names;
  for (const Variant& variant : calls.variants()) {
    Symbol now = keeps_name || variant.bound.empty() ? name : fresh_.next(name);
    Function function = variant.bound.empty() ? original : bind_parameters(original, variant.bound);
    rename(function, now);
    module_.functions[now] = std::move(function);
    for (Site site : variant.sites) targets_[site.caller][site.node] = {now, &variant.bound};
    names.push_back(now);
  }
  return names;
}

void Binder::redirect(Symbol caller, const std::map<uint32_t, Target>& targets) {
  Function& function = module_.function(caller);
  Rewriter rewriter(function);
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    auto target = targets.find(k);
    if (target == targets.end()) {
      rewriter.copy(k);
      continue;
    }
    std::vector<ValueId> args = rewriter.mapped_args(k), kept;
    for (uint32_t param = 0; param < args.size(); ++param) {
      if (!target->second.bound->contains(param)) kept.push_back(args[param]);
    }
    BYOC_CHECK(kept.size() + target->second.bound->size() == args.size(), kept.size(), " of ",
               args.size(), " arguments are left");
    const Node& node = function.nodes[k];
    rewriter.replace(k, rewriter.to().add_invoke(target->second.name, kept, node.types, node.loc));
  }
  function = std::move(rewriter).finish();
}

void Binder::run(const std::vector<Symbol>& callees_first) {
  // Callers come first: a constant that is bound into a function may be an argument of its calls.
  for (size_t k = callees_first.size(); k-- > 0;) {
    for (Symbol name : make_variants(callees_first[k])) find_calls(name);
  }
  for (const auto& [caller, targets] : targets_) redirect(caller, targets);
}

}  // namespace

Result<IRModule> bind_constant_arguments(IRModule module, const PassContext&) {
  BYOC_TRY_STATUS(name_by_symbols(module));
  BYOC_TRY(std::vector<Symbol> order, callees_first(module));
  Binder(module).run(order);
  return module;
}

}  // namespace byoc
