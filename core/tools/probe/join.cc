// SPDX-License-Identifier: Apache-2.0
#include "core/tools/probe/join.h"

#include <algorithm>

#include "core/region/composites.h"

namespace byoc::driver {

IRModule joined(std::span<const Probe> probes, const std::string& plugin,
                std::vector<size_t>& first_output) {
  IRModule out;
  Function entry;
  struct Call {
    Symbol name;
    std::vector<ValueId> args;
    TypeIds types;
  };
  std::vector<Call> calls;
  for (size_t k = 0; k < probes.size(); ++k) {
    const Probe& probe = probes[k];
    Function body = probe.body;
    for (const auto& [key, buffer] : probe.module.constants) out.constants.emplace(key, buffer);
    for (Node& node : body.nodes) {
      auto* invoke = std::get_if<Invoke>(&node.kind);
      if (invoke == nullptr) continue;
      const Symbol renamed = cat("composite_", k);
      out.functions[renamed] = probe.module.function(invoke->function);
      invoke->function = renamed;
    }
    const Symbol name = cat(kProbePrefix, k);
    body.attrs.set("compiler", plugin);
    body.attrs.set("global_symbol", name.str());
    body.attrs.set("primitive", true);
    Call call{name, {}, {}};
    for (size_t p = 0; p < body.num_params(); ++p)
      call.args.push_back({entry.add_param(cat("p", k, "_", p), body.nodes[p].types[0]), 0});
    calls.push_back(std::move(call));
    out.functions[name] = std::move(body);
  }
  for (Call& call : calls) {
    const Function& body = out.function(call.name);
    const uint32_t node = entry.add_invoke(call.name, call.args, body.result_types());
    first_output.push_back(entry.results.size());
    for (uint32_t r = 0; r < body.results.size(); ++r) entry.results.push_back({node, r});
  }
  first_output.push_back(entry.results.size());
  out.functions[out.entry] = std::move(entry);
  return out;
}

IRModule side_by_side(std::span<const Probe> probes, std::vector<size_t>& first_output) {
  IRModule out;
  Function entry;
  std::vector<std::vector<uint32_t>> now(probes.size());
  for (size_t k = 0; k < probes.size(); ++k) {
    const Function& body = probes[k].body;
    for (size_t p = 0; p < body.num_params(); ++p)
      now[k].push_back(entry.add_param(cat("p", k, "_", p), body.nodes[p].types[0]));
  }
  std::vector<ValueId> args;
  for (size_t k = 0; k < probes.size(); ++k) {
    const Function& body = probes[k].body;
    for (const auto& [key, buffer] : probes[k].module.constants) out.constants.emplace(key, buffer);
    for (size_t n = body.num_params(); n < body.nodes.size(); ++n) {
      args.clear();
      for (ValueId arg : body.args(body.nodes[n])) args.push_back({now[k][arg.node], arg.output});
      now[k].push_back(entry.add_copy(body.nodes[n], args));
      entry.nodes.back().loc = cat(kProbePrefix, k);
    }
    first_output.push_back(entry.results.size());
    for (ValueId result : body.results)
      entry.results.push_back({now[k][result.node], result.output});
  }
  first_output.push_back(entry.results.size());
  out.functions[out.entry] = std::move(entry);
  return out;
}

namespace {

/// Puts the op of `candidate` in the place of the call that the body ends with.
void put_op(const IRModule& module, const Function& function, const Match& match, uint32_t root,
            Probe& out) {
  const Function call = std::move(out.body);
  out.body = Function();
  std::map<ValueId, ValueId> map;
  const std::span<const ValueId> args = call.args(call.nodes.back());
  for (uint32_t k = 0; k + 1 < call.nodes.size(); ++k) out.body.add_copy(call.nodes[k], {});
  for (size_t k = 0; k < args.size(); ++k) map[match.inputs[k]] = args[k];
  std::vector<ValueId> mapped;
  for (ValueId arg : function.args(function.nodes[root])) mapped.push_back(map.at(arg));
  out.body.add_copy(function.nodes[root], mapped);
  if (auto* invoke = std::get_if<Invoke>(&function.nodes[root].kind))
    out.module.functions[invoke->function] = module.function(invoke->function);
}

/// Gives the body its results. Unread ones, such as the indices of a pool, are not measured.
void add_results(const Function& function, uint32_t root, Function& body) {
  const auto last = static_cast<uint32_t>(body.nodes.size() - 1);
  const size_t results = body.nodes[last].types.size();
  const UseCounts uses(function);
  for (uint32_t k = 0; k < results; ++k) {
    if (results == 1 || uses({root, k}) > 0) body.results.push_back({last, k});
  }
}

}  // namespace

Probe make_probe(IRModule& module, Symbol name, const placement::Candidates& candidates,
                 const placement::Candidate& candidate) {
  const Function& function = module.function(name);
  Probe out;
  out.plugin = candidates.plugins[candidate.plugin]->id();
  out.is_rest = candidate.is_rest;
  const auto nodes = candidates.nodes_of(candidate);
  out.work = nodes.size() == 1 ? placement::work_of(module, function, nodes[0])
                               : placement::work_of(function, nodes, candidate.root);
  Match match;
  match.root = candidate.root;
  match.nodes.assign(nodes.begin(), nodes.end());
  std::string composite = "probe.one";
  if (candidate.match != placement::kNone) {
    match = candidates.matches[candidate.match];
    const Plugin& plugin = *candidates.plugins[candidate.plugin];
    composite = composite_name(plugin, plugin.patterns()[candidate.pattern]);
  } else {
    for (ValueId arg : function.args(function.nodes[candidate.root])) {
      if (std::find(match.inputs.begin(), match.inputs.end(), arg) == match.inputs.end())
        match.inputs.push_back(arg);
    }
  }
  const Symbol callee = "probed";
  out.body = composite_call(function, match, callee);
  if (candidate.match != placement::kNone) {
    out.module.functions[callee] = composite_body(function, match, composite, out.plugin);
  } else {
    put_op(module, function, match, candidate.root, out);
  }
  add_results(function, candidate.root, out.body);
  for (const Node& node : out.body.nodes) {
    if (auto* constant = std::get_if<Constant>(&node.kind)) {
      if (auto at = module.constants.find(constant->data->key()); at != module.constants.end())
        out.module.constants.insert(*at);
    }
  }
  return out;
}

BuildOptions options_of_probes(const BuildOptions& build, const Probe& first) {
  BuildOptions out = build;
  out.history = nullptr;
  out.history_report = nullptr;
  out.require_tuned = false;
  out.report = nullptr;
  if (!first.is_rest) return out;
  out.compilers = {first.plugin};
  out.default_codegen = first.plugin;
  return out;
}

}  // namespace byoc::driver
