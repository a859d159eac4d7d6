// SPDX-License-Identifier: Apache-2.0
#include "core/simplify/functions.h"

#include <algorithm>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/external_symbols.h"

namespace byoc::simplify {

void keep_functions(IRModule& module, const std::vector<Symbol>& keep) {
  std::unordered_set<Symbol> kept(keep.begin(), keep.end());
  std::erase_if(module.functions, [&](const auto& entry) { return !kept.contains(entry.first); });
}

FreshNames::FreshNames(const IRModule& module) {
  for (const auto& [name, function] : module.functions) taken_.insert(name);
  for (std::string_view symbol : external_symbols(module)) taken_.insert(symbol);
}

Symbol FreshNames::next(Symbol base) {
  for (int& k = last_[base];;) {
    Symbol name = cat(base, "_", ++k);
    if (taken_.insert(name).second) return name;
  }
}

void rename(Function& copy, Symbol name) {
  if (copy.attrs.has("global_symbol")) copy.attrs.set("global_symbol", name.str());
}

ValueId ConstantNodes::add(std::shared_ptr<const Buffer> data, TypeId type, Symbol loc) {
  const Buffer* pooled = module_.add_constant(std::move(data));
  auto [at, is_new] = nodes_.try_emplace({pooled->key(), type.id()}, 0);
  if (is_new) at->second = to_.add_constant(pooled, type, loc);
  return {at->second, 0};
}

Strings input_names_of(const Function& function) {
  const AttrValue* value = function.attrs.find("input_names");
  const Strings* names = value ? std::get_if<Strings>(value) : nullptr;
  return names ? *names : Strings();
}

namespace {

// Removes the names of the bound parameters.
void forget_input_names(Function& function, const BoundParams& bound) {
  Strings names = input_names_of(function), kept;
  if (names.empty()) return;
  for (uint32_t k = 0; k < names.size(); ++k) {
    if (!bound.contains(k)) kept.push_back(names[k]);
  }
  function.attrs.set("input_names", kept);
}

}  // namespace

Function bind_parameters(const Function& function, const BoundParams& bound) {
  Rewriter rewriter(function);
  auto params = static_cast<uint32_t>(function.num_params());
  BYOC_CHECK(bound.empty() || bound.rbegin()->first < params, "parameter ", bound.rbegin()->first,
             " of ", params);
  for (uint32_t k = 0; k < params; ++k) {
    if (!bound.contains(k)) rewriter.copy(k);
  }
  for (const auto& [k, constant] : bound) {
    auto [data, type] = constant;
    rewriter.replace(k, rewriter.to().add_constant(data, type, function.nodes[k].loc));
  }
  for (uint32_t k = params; k < function.nodes.size(); ++k) {
    const Node& node = function.nodes[k];
    bool unwraps = is_begin(node) && bound.contains(function.args(node)[0].node);
    if (unwraps) rewriter.set({k, 0}, rewriter.map(function.args(node)[0]));
    else rewriter.copy(k);
  }
  Function out = std::move(rewriter).finish();
  forget_input_names(out, bound);
  return out;
}

namespace {

bool stays_unread(const Function& function, const Node& node) {
  if (std::holds_alternative<Param>(node.kind) || is_annotation(node)) return true;
  for (ValueId arg : function.args(node)) {
    if (is_begin(function.nodes[arg.node])) return true;
  }
  return false;
}

std::vector<bool> live_nodes(const Function& function) {
  std::vector<bool> live(function.nodes.size());
  for (ValueId result : function.results) {
    BYOC_CHECK(result.node < live.size(), "result of node ", result.node, " of ", live.size());
    live[result.node] = true;
  }
  for (size_t k = function.nodes.size(); k-- > 0;) {
    const Node& node = function.nodes[k];
    if (!live[k]) live[k] = stays_unread(function, node);
    if (!live[k]) continue;
    for (ValueId arg : function.args(node)) live[arg.node] = true;
  }
  return live;
}

}  // namespace

Function without_dead_nodes(Function function) {
  std::vector<bool> live = live_nodes(function);
  if (std::find(live.begin(), live.end(), false) == live.end()) return function;
  Rewriter rewriter(function);
  for (uint32_t k = 0; k < live.size(); ++k) {
    if (live[k]) rewriter.copy(k);
  }
  return std::move(rewriter).finish();
}

}  // namespace byoc::simplify
