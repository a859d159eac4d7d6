// SPDX-License-Identifier: Apache-2.0
#include "core/region/assign_loops.h"

#include <algorithm>

#include "byoc/ir/dim.h"
#include "byoc/te/module.h"

namespace byoc {
namespace {

Status no_codegen(Symbol name, std::string message) {
  return unimplemented(std::move(message))
      .with_slug("no-loops-codegen")
      .with_help("byoc plugins lists those with the flag LOOPS; llvm and json have it")
      .at(cat("@", name));
}

bool takes(const Plugin& plugin, const Function& loops) {
  const bool is_open = std::ranges::any_of(loops.nodes, [](const Node& node) {
    for (size_t k = 0; k < node.types.size(); ++k)
      if (has_open(node.types[k]->shape)) return true;
    return false;
  });
  return plugin.takes_loops() && (plugin.takes_open_sizes() || !is_open);
}

// Returns the ids in the order in which they are tried, each once.
std::vector<std::string> candidates(const PassContext& context, const Function& loops) {
  std::vector<std::string> out;
  for (const auto* ids : {&context.compilers, &context.defaults}) {
    for (const std::string& id : *ids) {
      const Plugin* plugin = context.plugins->find(id);
      const bool is_new = std::find(out.begin(), out.end(), id) == out.end();
      if (is_new && plugin != nullptr && takes(*plugin, loops)) out.push_back(id);
    }
  }
  return out;
}

void assign(Function& function, Symbol name, const std::string& id) {
  function.attrs.set("compiler", id);
  function.attrs.set("global_symbol", name.str());
}

// Checks the plugin that the user named.
Status check_named(const Function& function, Symbol name, const PassContext& context) {
  const std::string id = function.attr("compiler");
  BYOC_TRY(const Plugin* plugin, context.plugins->get(id));
  if (takes(*plugin, function)) return {};
  return no_codegen(name, cat("\"", id, "\" compiles no loop functions",
                              plugin->takes_loops() ? " of open sizes" : ""));
}

}  // namespace

Status assign_loops(IRModule& module, const PassContext& context) {
  if (!context.plugins) return {};  // nothing is compiled
  for (auto& [name, function] : module.functions) {
    if (!te::has_loops(function)) continue;
    if (name == module.entry) {
      return invalid(cat("the entry @", name, " has loops"))
          .with_slug("loops-entry")
          .with_help(cat("add a function that calls it: fn main(...) { %0 = @", name,
                         "(...)  return %0 }"));
    }
    if (function.attrs.has("compiler")) {
      BYOC_TRY_STATUS(check_named(function, name, context));
      assign(function, name, function.attr("compiler"));
      continue;
    }
    const std::vector<std::string> ids = candidates(context, function);
    if (ids.empty()) return no_codegen(name, "no plugin here compiles loop functions");
    assign(function, name, ids[0]);
  }
  return {};
}

Status reassign_loops(Function& function, Symbol name, const std::string& declined,
                      const Status& why, const PassContext& context) {
  const std::vector<std::string> ids = candidates(context, function);
  auto next = std::find(ids.begin(), ids.end(), declined);
  if (next != ids.end()) ++next;
  if (next == ids.end()) {
    return no_codegen(name, cat("\"", declined, "\" declined the loop function: ", why.message(),
                                "; no other plugin here takes it"));
  }
  assign(function, name, *next);
  return {};
}

}  // namespace byoc
