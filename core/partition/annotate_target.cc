// Puts compiler_begin / compiler_end around what a plugin takes, each op or composite an open
// region of its own.
//   before: %0 = relu(%x)
//   after:  %0 = compiler_begin(%x) {compiler="onednn", region=0, open=true}
//           %1 = relu(%0)
//           %2 = compiler_end(%1) {compiler="onednn", region=0, open=true}
#include <algorithm>

#include "byoc/pass/passes.h"
#include "core/partition/annotate.h"
#include "core/partition/judge.h"
#include "core/partition/rewrite_annotations.h"

namespace byoc {

Result<std::vector<const Plugin*>> plugins_for(const Function& function,
                                               const std::vector<std::string>& listed,
                                               const PassContext& context) {
  std::vector<std::string> ids =
      function.attrs.has("compiler") ? std::vector{function.attr("compiler")} : listed;
  std::vector<const Plugin*> out;
  for (const std::string& id : ids) {
    if (!context.plugins) {
      return not_found(cat("no plugins are loaded, so \"", id, "\" cannot be asked"))
          .with_slug("unknown-plugin");
    }
    BYOC_TRY(const Plugin* plugin, context.plugins->get(id));
    out.push_back(plugin);
  }
  return out;
}

namespace {

// Ops and composites; calls of plain or compiled functions, externs and annotations are left as
// they are.
bool is_candidate(const IRModule& module, const Node& node) {
  if (auto* call = std::get_if<Call>(&node.kind)) return !call->op->is_annotation;
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module.find(invoke->function) : nullptr;
  return callee != nullptr && callee->attrs.has("composite");
}

void remark_verdict(const PassContext& context, const IRModule& module, const Plugin& plugin,
                    const Node& node, const Verdict& verdict) {
  bool is_yes = verdict.accept == Verdict::kYes;
  if (context.report == nullptr || (is_yes && verdict.reason.empty())) return;
  auto kind = is_yes                           ? Report::Remark::kNote  // how it will be run
              : verdict.accept == Verdict::kNo ? Report::Remark::kRefused
                                               : Report::Remark::kSlow;
  context.remark(
      {kind, plugin.id(), op_label(module, node), op_locs(module, node), verdict.reason});
}

// The place in `plugins` of the first that takes the node; their number when none does.
size_t first_taker(Judge& judge, const IRModule& module, const PassContext& context,
                   const Function& function, const UseCounts& uses, uint32_t node,
                   const std::vector<const Plugin*>& plugins) {
  for (size_t p = 0; p < plugins.size(); ++p) {
    const Verdict& verdict = judge.takes(*plugins[p], function, uses, node);
    remark_verdict(context, module, *plugins[p], function.nodes[node], verdict);
    if (verdict.accept != Verdict::kNo) return p;
  }
  return plugins.size();
}

}  // namespace

Result<Function> annotate_function(const IRModule& module, const Function& function, Symbol name,
                                   const std::vector<const Plugin*>& plugins,
                                   const PassContext& context, Taken* taken) {
  BYOC_TRY(Annotations annotations, read_annotations(function, name));
  Judge judge(module, context);
  UseCounts uses(function);
  int64_t next = 0;
  for (const Region& region : annotations.regions) next = std::max(next, region.number + 1);
  Taken counts;
  std::vector<Symbol> ids;
  for (const Plugin* plugin : plugins) ids.push_back(plugin->id());
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!is_candidate(module, function.nodes[node]) || annotations.region_of[node] != kOutside)
      continue;
    size_t p = first_taker(judge, module, context, function, uses, node, plugins);
    if (p == plugins.size()) {
      counts.refused.push_back(node);
      continue;
    }
    counts.ops += op_count(module, function.nodes[node]);
    annotations.region_of[node] = static_cast<uint32_t>(annotations.regions.size());
    annotations.regions.push_back({next++, ids[p], true});
  }
  if (taken != nullptr) *taken = std::move(counts);
  return rewrite_annotations(function, annotations, *context.ops);
}

namespace {

// A function can become a region as it stands when each result is the value of an op, and no two
// are the same.
bool has_plain_results(const IRModule& module, const Function& function) {
  std::vector<ValueId> results = function.results;
  std::sort(results.begin(), results.end());
  if (results.empty() || std::adjacent_find(results.begin(), results.end()) != results.end())
    return false;
  return std::all_of(results.begin(), results.end(),
                     [&](ValueId v) { return is_candidate(module, function.nodes[v.node]); });
}

bool has_only_candidates(const IRModule& module, const Function& function) {
  return std::all_of(function.nodes.begin(), function.nodes.end(), [&](const Node& node) {
    return std::holds_alternative<Param>(node.kind) ||
           std::holds_alternative<Constant>(node.kind) || is_candidate(module, node);
  });
}

}  // namespace

Result<IRModule> annotate_target(IRModule module, const std::vector<std::string>& plugins,
                                 const PassContext& context) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  for (Symbol name : order) {
    Function& function = module.function(name);
    if (function.attrs.has("composite") || function.attrs.has("primitive")) continue;
    BYOC_TRY(std::vector<const Plugin*> chosen, plugins_for(function, plugins, context));
    if (chosen.empty()) continue;
    Taken taken;
    BYOC_TRY(Function annotated,
             annotate_function(module, function, name, chosen, context, &taken));
    bool has_attribute = function.attrs.has("compiler");
    if (has_attribute && name != module.entry && taken.refused.empty() &&
        taken.ops <= chosen[0]->max_ops() && has_plain_results(module, function) &&
        has_only_candidates(module, function)) {
      continue;  // taken whole: partition_graph makes it a region
    }
    annotated.attrs.erase("compiler");
    function = std::move(annotated);
  }
  return module;
}

}  // namespace byoc
