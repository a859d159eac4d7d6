// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/loaded_plugin.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/text/graph_json.h"
#include "runtime/host/plugin_collector.h"
#include "runtime/host/plugin_loader.h"

namespace byoc::conform {

Result<LoadedPlugin> load_plugin(const CheckContext& context) {
  LoadedPlugin out;
  process::doing("loading it");
  PluginSearch search;
  const std::optional<byoc_plugin> registered = context.registered_table();
  PluginManifest manifest;
  if (registered) {
    search.ids = {context.options().registered};
  } else {
    search.files = {context.options().path};
    BYOC_TRY_STATUS(inspect_plugin(context.options().path, manifest).status());
  }
  search.options = context.options().options;
  const WithoutTrials in_a_child;  // a check runs in one already, and reports the crash
  out.set = PluginSet::load(search);
  if (!out.set->refused().empty()) {
    const RefusedPlugin& refused = out.set->refused()[0];
    return failed(refused.reason).with_help(refused.help);
  }
  out.plugin = out.set->all()[0].get();
  if (registered) {
    out.table = *registered;
  } else {
    BYOC_TRY(out.table, load_plugin_table(context.options().path, manifest));
  }
  out.options_json = context.options_json();
  return out;
}

PassContext pass_context(const LoadedPlugin& tested) {
  PassContext context;
  context.plugins = tested.set;
  context.compilers = {tested.plugin->id()};
  context.judge_cache = tested.judges;
  return context;
}

Verdict verdict_on(const LoadedPlugin& tested, const Program& program) {
  PassContext context = pass_context(tested);
  Judge judge(program.module, context);
  const Function& main = program.module.function("main");
  UseCounts uses(main);
  process::doing(cat("judge, ", program.label));
  return judge.takes(*tested.plugin, main, uses, static_cast<uint32_t>(main.nodes.size() - 1));
}

TensorSpec spec_of(TypeId type) { return {type->dtype, static_extents(type->shape)}; }

CompileFunction compile_function(const IRModule& module, const std::string& symbol) {
  CompileFunction out;
  const Function& main = module.function("main");
  out.symbol = symbol;
  write_graph_json(module, main, symbol, out.graph_json);
  for (const ConstantRef& constant : graph_constants(module, main)) {
    out.constants.push_back({cat("c", out.constants.size()), constant.key, spec_of(constant.type)});
    out.buffers.push_back(module.constants.at(constant.key));
  }
  out.n_in = static_cast<uint32_t>(main.num_params());
  out.n_out = static_cast<uint32_t>(main.results.size());
  return out;
}

CompileFunction renamed(const CompileFunction& function) {
  CompileFunction out = function;
  out.symbol = "conform_renamed";
  auto graph = parse_json(function.graph_json);
  if (!graph.ok()) return out;
  (*graph)["symbol"] = out.symbol;
  for (Json& input : (*graph)["inputs"])
    input["name"] = cat("renamed_", input["name"].get<std::string>());
  for (Json& node : (*graph)["nodes"]) node["loc"] = "renamed";
  out.graph_json = graph->dump();
  return out;
}

std::string candidate_json(const IRModule& module) {
  std::string json;
  write_graph_json(module, module.function("main"), "candidate", json);
  return json;
}

std::optional<uint32_t> pattern_of(const LoadedPlugin& tested, const IRModule& module) {
  if (tested.plugin->patterns().empty()) return BYOC_NO_PATTERN;
  const Function& main = module.function("main");
  UseCounts uses(main);
  auto root = static_cast<uint32_t>(main.nodes.size() - 1);
  for (const PatternTable::Row& row :
       tested.judges->table(*tested.plugin, pass_context(tested)).rows) {
    if (row.pattern.min_ops() > 1) continue;
    for (const Match& match : matches_at(row.pattern, main, uses, root, 4)) {
      if (match.nodes.size() == 1) return row.index;
    }
  }
  return std::nullopt;
}

}  // namespace byoc::conform
