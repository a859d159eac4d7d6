// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/module.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/ir/external_symbols.h"

namespace byoc {

const Buffer* IRModule::add_constant(std::shared_ptr<const Buffer> buffer) {
  auto [at, is_new] = constants.try_emplace(buffer->key(), buffer);
  if (!is_new && at->second != buffer) {
    const Buffer& known = *at->second;
    bool same = known.size() == buffer->size() &&
                (known.size() == 0 || std::memcmp(known.data(), buffer->data(), known.size()) == 0);
    BYOC_CHECK(same, "two different constants have the key ", buffer->key());
  }
  return at->second.get();
}

Function* IRModule::find(Symbol name) {
  auto at = functions.find(name);
  return at == functions.end() ? nullptr : &at->second;
}

const Function* IRModule::find(Symbol name) const {
  auto at = functions.find(name);
  return at == functions.end() ? nullptr : &at->second;
}

Function& IRModule::function(Symbol name) {
  Function* found = find(name);
  BYOC_CHECK(found, "no function ", name);
  return *found;
}

const Function& IRModule::function(Symbol name) const {
  const Function* found = find(name);
  BYOC_CHECK(found, "no function ", name);
  return *found;
}

const ExternalFunction* IRModule::find_external(std::string_view symbol) const {
  for (const ExternalModule& module : external_mods) {
    for (const ExternalFunction& function : module.functions) {
      auto is_called_so = [&](const ExternalAlias& alias) { return alias.symbol == symbol; };
      if (function.symbol == symbol || std::ranges::any_of(function.aliases, is_called_so))
        return &function;
    }
  }
  return nullptr;
}

Symbol IRModule::unique_name(std::string_view base) const {
  const std::set<std::string_view> externals = external_symbols(*this);
  auto taken = [&](Symbol name) {
    return find(name) != nullptr || externals.contains(name.text());
  };
  Symbol name = base;
  for (int k = 1; taken(name); ++k) name = cat(base, "_", k);
  return name;
}

namespace {

/// Replaces the names of functions that the nodes call or run.
void redirect(Function& function, const std::map<Symbol, Symbol>& names) {
  auto replace = [&](Symbol& name) {
    if (auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (Node& node : function.nodes) {
    if (auto* invoke = std::get_if<Invoke>(&node.kind)) replace(invoke->function);
    if (auto* control = std::get_if<Control>(&node.kind))
      replace(control->body), replace(control->otherwise);
  }
}

}  // namespace

Status name_by_symbols(IRModule& module) {
  std::map<Symbol, Symbol> names;  // by the old one
  std::set<Symbol> given;
  const std::set<std::string_view> externals = external_symbols(module);
  for (const auto& [name, function] : module.functions) {
    const std::string symbol = function.attr("global_symbol");
    const bool is_own = symbol.empty() || symbol == name.text() || name == module.entry;
    if (is_own || !function.attrs.has("compiler")) continue;
    if (module.find(symbol) != nullptr || externals.contains(symbol) ||
        !given.insert(symbol).second) {
      return Status(Code::kAlreadyExists, cat("global_symbol=\"", symbol, "\" of the function @",
                                              name, " is the name of another function"))
          .with_slug("global-symbol")
          .with_help("give each compiled function a symbol of its own");
    }
    names[name] = symbol;
  }
  if (names.empty()) return {};
  for (auto& [name, function] : module.functions) redirect(function, names);
  for (const auto& [from, to] : names) {
    auto moved = module.functions.extract(from);
    moved.key() = to;
    module.functions.insert(std::move(moved));
  }
  return {};
}

std::set<std::string_view> external_symbols(const IRModule& module) {
  std::set<std::string_view> out;
  for (const ExternalModule& compiled : module.external_mods) {
    for (const ExternalFunction& function : compiled.functions) {
      out.insert(function.symbol);
      for (const ExternalAlias& alias : function.aliases) out.insert(alias.symbol);
    }
  }
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      if (auto* call = std::get_if<Extern>(&node.kind)) out.insert(call->symbol.text());
    }
  }
  return out;
}

}  // namespace byoc
