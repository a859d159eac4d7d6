// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/lift_weights.h"

#include <algorithm>
#include <set>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "core/codegen/compile_input.h"
#include "core/region/function_key.h"
#include "runtime/plugin_file/plugin_manifest.h"

namespace byoc {
namespace {

constexpr int64_t kInlineElements = 64;  // constants up to these have their values in the graph

bool takes_weights_as_inputs(const Plugin& plugin) {
  auto file = ByteSource::open(plugin.path());
  if (!file.ok()) return false;
  auto manifest = read_manifest(*file);
  return manifest.ok() && manifest->id == plugin.id() && manifest->takes_weights_as_inputs;
}

bool is_weight(const Node& node) {
  if (!std::holds_alternative<Constant>(node.kind)) return false;
  const Result<int64_t> elements = num_elements(node.types[0]->shape);
  return elements.ok() && *elements > kInlineElements;
}

struct Lifted {
  Function function;
  std::vector<std::pair<const Buffer*, TypeId>> weights;  // of the new parameters, in order
};

/// Returns the function with parameters for its weights, after those that it has.
Lifted lifted(const Function& function) {
  Lifted out;
  Rewriter rewriter(function);
  std::vector<uint32_t> weights;
  size_t first = 0;
  for (; first < function.nodes.size(); ++first) {
    if (!std::holds_alternative<Param>(function.nodes[first].kind)) break;
    rewriter.copy(static_cast<uint32_t>(first));
  }
  for (auto k = static_cast<uint32_t>(first); k < function.nodes.size(); ++k) {
    if (is_weight(function.nodes[k])) weights.push_back(k);
  }
  for (uint32_t k : weights) {
    const TypeId type = function.nodes[k].types[0];
    out.weights.emplace_back(std::get<Constant>(function.nodes[k].kind).data, type);
    rewriter.replace(k, rewriter.to().add_param(cat("weight", out.weights.size()), type));
  }
  for (auto k = static_cast<uint32_t>(first); k < function.nodes.size(); ++k) {
    if (!is_weight(function.nodes[k])) rewriter.copy(k);
  }
  out.function = std::move(rewriter).finish();
  return out;
}

/// The functions of a plugin that are to be called with their weights, by name.
using Chosen = std::map<Symbol, Lifted>;

void choose(const IRModule& module, const std::vector<Symbol>& names, Chosen& out) {
  struct Group {
    std::set<std::string> different;  // keys with the weights
    std::vector<std::pair<Symbol, Lifted>> members;
  };
  std::map<std::string, Group> groups;  // by key without the weights
  for (Symbol name : names) {
    const Function& function = module.function(name);
    if (te::has_loops(function)) continue;
    Lifted now = lifted(function);
    if (now.weights.empty()) continue;
    Group& group = groups[region_key(module, now.function)];
    group.different.insert(region_key(module, function));
    group.members.emplace_back(name, std::move(now));
  }
  for (auto& [key, group] : groups) {
    if (group.different.size() < 2) continue;
    for (auto& [name, now] : group.members) out.emplace(name, std::move(now));
  }
}

/// Adds the weights to the calls in a function.
Function with_weights(const Function& function, const Chosen& chosen) {
  Rewriter rewriter(function);
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    const Node& node = function.nodes[k];
    auto* invoke = std::get_if<Invoke>(&node.kind);
    auto callee = invoke ? chosen.find(invoke->function) : chosen.end();
    if (callee == chosen.end()) {
      rewriter.copy(k);
      continue;
    }
    std::vector<ValueId> args = rewriter.mapped_args(k);
    for (const auto& [data, type] : callee->second.weights)
      args.push_back({rewriter.to().add_constant(data, type), 0});
    rewriter.replace(k, rewriter.to().add_copy(node, args));
  }
  return std::move(rewriter).finish();
}

bool calls_one_of(const Function& function, const Chosen& chosen) {
  return std::ranges::any_of(function.nodes, [&](const Node& node) {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    return invoke != nullptr && chosen.contains(invoke->function);
  });
}

}  // namespace

void lift_weights(IRModule& module, const PassContext& context) {
  if (context.level == 0 || !context.plugins) return;
  std::map<std::string, std::vector<Symbol>> regions;  // by plugin
  for (const auto& [name, function] : module.functions) {
    if (is_region(module, name, function)) regions[function.attr("compiler")].push_back(name);
  }
  Chosen chosen;
  for (const auto& [id, names] : regions) {
    const Plugin* plugin = names.size() < 2 ? nullptr : context.plugins->find(id);
    if (plugin != nullptr && takes_weights_as_inputs(*plugin)) choose(module, names, chosen);
  }
  if (chosen.empty()) return;
  for (auto& [name, function] : module.functions) {
    if (calls_one_of(function, chosen)) function = with_weights(function, chosen);
  }
  for (auto& [name, now] : chosen) module.function(name) = std::move(now.function);
}

}  // namespace byoc
