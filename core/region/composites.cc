// SPDX-License-Identifier: Apache-2.0
#include "core/region/composites.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/composite.h"
#include "byoc/ir/dim.h"
#include "byoc/pass/pass.h"
#include "byoc/pass/pattern.h"
#include "core/region/function_key.h"

namespace byoc {

Symbol CompositePool::add(const std::string& composite, Function body) {
  auto [at, is_new] = by_key_.try_emplace(function_key(body, Locs::kCompared));
  is_last_new_ = is_new;
  if (!is_new) return at->second;
  std::string base = composite;
  std::replace(base.begin(), base.end(), '.', '_');
  last_ = at;
  at->second = fresh_name(base);
  module_.functions.emplace(at->second, std::move(body));
  return at->second;
}

void CompositePool::drop_last() {
  BYOC_CHECK(is_last_new_, "the last composite is in use");
  module_.functions.erase(last_->second);
  by_key_.erase(last_);
  is_last_new_ = false;
}

Symbol CompositePool::fresh_name(const std::string& base) {
  Symbol name;
  do name = cat(base, "_", next_[base]++);
  while (module_.find(name) != nullptr);
  return name;
}

Function composite_body(const Function& function, const Match& match, const std::string& composite,
                        const std::string& owner) {
  Function out;
  std::map<ValueId, ValueId> map;
  std::map<ValueId, Capture> place;
  for (ValueId input : match.inputs) {
    uint32_t index = static_cast<uint32_t>(map.size());
    place[input] = {Capture::kInput, index};
    map[input] = {out.add_param(cat("i", index), function.type(input)), 0};
  }
  std::vector<ValueId> args;
  for (uint32_t node : match.nodes) {
    args.clear();
    for (ValueId arg : function.args(function.nodes[node])) args.push_back(map.at(arg));
    uint32_t now = out.add_copy(function.nodes[node], args);
    for (uint32_t k = 0; k < function.nodes[node].types.size(); ++k) {
      map[{node, k}] = {now, k};
      place[{node, k}] = {Capture::kNode, now - static_cast<uint32_t>(match.inputs.size())};
    }
  }
  for (uint32_t k = 0; k < function.nodes[match.root].types.size(); ++k)
    out.results.push_back(map.at({match.root, k}));
  Captures captures;
  for (const auto& [name, values] : match.captures) {
    for (ValueId value : values) captures[name].push_back(place.at(value));
  }
  out.attrs.set("composite", composite);
  set_captures(out, captures);
  out.attrs.set("owner", owner);
  return out;
}

Function composite_call(const Function& function, const Match& match, Symbol composite) {
  Function call;
  std::vector<ValueId> args;
  for (ValueId input : match.inputs) {
    if (!std::holds_alternative<Constant>(function.nodes[input.node].kind)) {
      args.push_back({call.add_param(cat("x", args.size()), function.type(input)), 0});
    } else {
      args.push_back({});
    }
  }
  for (size_t k = 0; k < args.size(); ++k) {
    ValueId input = match.inputs[k];
    if (auto* constant = std::get_if<Constant>(&function.nodes[input.node].kind))
      args[k] = {call.add_constant(constant->data, function.type(input)), 0};
  }
  call.add_invoke(composite, args, function.nodes[match.root].types);
  return call;
}

Function with_composites(const Function& function,
                         const std::unordered_map<uint32_t, FormedComposite>& by_root,
                         const std::vector<uint8_t>& is_dropped) {
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    auto formed = by_root.find(node);
    if (formed != by_root.end()) {
      std::vector<ValueId> args = rewriter.map(formed->second.inputs);
      rewriter.replace(node, rewriter.to().add_invoke(formed->second.composite, args,
                                                      function.nodes[node].types));
    } else if (!is_dropped[node]) {
      rewriter.copy(node);
    }
  }
  return std::move(rewriter).finish();
}

namespace {

using Test = bool (*)(const Shape&);

bool is_open_with_bound(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(),
                     [](Dim dim) { return is_open(dim) && dim.max() != Dim::kUnbounded; });
}

bool has_values(const Function& function, const Node& node, Test test) {
  for (ValueId arg : function.args(node))
    if (test(function.type(arg)->shape)) return true;
  for (size_t k = 0; k < node.types.size(); ++k)
    if (test(node.types[k]->shape)) return true;
  return false;
}

// Returns true when the op, or an op of the composite, has a value of such a shape.
bool has_values(const IRModule& module, const Function& function, uint32_t node, Test test) {
  const Node& n = function.nodes[node];
  if (has_values(function, n, test)) return true;
  auto* invoke = std::get_if<Invoke>(&n.kind);
  const Function* body = invoke ? module.find(invoke->function) : nullptr;
  if (body == nullptr) return false;
  return std::any_of(body->nodes.begin(), body->nodes.end(),
                     [&](const Node& inner) { return has_values(*body, inner, test); });
}

}  // namespace

bool has_counted_values(const IRModule& module, const Function& function, uint32_t node) {
  return has_values(module, function, node, has_counted);
}

bool has_open_values(const IRModule& module, const Function& function, uint32_t node) {
  return has_values(module, function, node, is_open_with_bound);
}

std::vector<LeftOutPattern> left_out_patterns(const Plugin& plugin) {
  std::vector<LeftOutPattern> out;
  for (uint32_t k = 0; k < plugin.patterns().size(); ++k) {
    const Status status = Pattern::parse(plugin.patterns()[k].dag_json).status();
    const std::string place = status.where().empty() ? "" : cat(" at ", status.where());
    if (!status.ok()) out.push_back({k, plugin.patterns()[k].name, status.message() + place});
  }
  return out;
}

std::string left_out_text(const Plugin& plugin, const LeftOutPattern& pattern) {
  return cat("the pattern \"", pattern.name, "\" of ", plugin.id(), " is left out: ", pattern.why);
}

}  // namespace byoc
