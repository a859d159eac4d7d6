// SPDX-License-Identifier: Apache-2.0
#include "core/region/annotate_function.h"

#include <algorithm>

#include "core/region/judge.h"
#include "core/region/rewrite_annotations.h"

namespace byoc {

bool is_candidate(const IRModule& module, const Node& node) {
  if (auto* call = std::get_if<Call>(&node.kind)) return !call->op->is_annotation;
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module.find(invoke->function) : nullptr;
  return callee != nullptr && callee->attrs.has("composite");
}

bool avoids_slow_kernels(const Function& function, const PassContext& context) {
  return !function.attrs.has("compiler") && context.option("slow") == "avoided";
}

Result<std::vector<const Plugin*>> plugins_for(const Function& function,
                                               const std::vector<std::string>& listed,
                                               const PassContext& context) {
  std::vector<std::string> ids =
      function.attrs.has("compiler") ? std::vector{function.attr("compiler")} : listed;
  std::vector<const Plugin*> out;
  for (const std::string& id : ids) {
    if (!context.plugins) {
      return not_found(cat("no plugins are loaded, so \"", id, "\" cannot be used"))
          .with_slug("unknown-plugin");
    }
    BYOC_TRY(const Plugin* plugin, context.plugins->get(id));
    out.push_back(plugin);
  }
  return out;
}

namespace {

void remark_verdict(const PassContext& context, const IRModule& module, const Plugin& plugin,
                    const Node& node, const Verdict& verdict, bool is_judged) {
  bool is_yes = verdict.accept == Verdict::kYes;
  if (context.report == nullptr || (is_yes && verdict.reason.empty())) return;
  auto kind = is_yes                             ? Report::Remark::kNote  // how it will be run
              : verdict.accept == Verdict::kSlow ? Report::Remark::kSlow
              : is_judged                        ? Report::Remark::kRefused
                                                 : Report::Remark::kNoPattern;
  context.remark(
      {kind, plugin.id(), op_label(module, node), op_locs(module, node), verdict.reason});
}

// Adds a remark about an op that its plugin calls slow, and that another plugin gets.
void remark_avoided(const PassContext& context, const IRModule& module, const Plugin& plugin,
                    const Function& function, uint32_t node, const Verdict& verdict) {
  const Node& n = function.nodes[node];
  context.remark({Report::Remark::kRefused, plugin.id(), op_label(module, n), op_locs(module, n),
                  cat("slow there, and another plugin takes it: ", verdict.reason)});
}

// Adds one remark per op of a composite that belongs to another plugin. `plugin` refuses such a
// composite as a whole; the remarks give the reason for each op.
void remark_inside(const PassContext& context, Judge& judge, const Plugin& plugin,
                   const Function& function, uint32_t node) {
  if (context.report == nullptr) return;
  for (Judge::InnerVerdict& op : judge.takes_inside(plugin, function, node)) {
    std::vector<Symbol> locs;
    if (!op.loc.empty()) locs.push_back(op.loc);
    context.remark({op.kind, plugin.id(), op.op.str(), std::move(locs), std::move(op.reason)});
  }
}

// Returns whether a default codegen takes the node, and not as slow.
bool is_for_default(Judge& judge, const PassContext& context, const Function& function,
                    const UseCounts& uses, uint32_t node) {
  return std::ranges::any_of(context.defaults, [&](const std::string& id) {
    const Plugin* plugin = context.plugins->find(id);
    return plugin != nullptr && judge.takes(*plugin, function, uses, node).accept == Verdict::kYes;
  });
}

// Returns the index of the first of `plugins` that takes the node, or their number if none does.
// With `avoids_slow` a plugin that calls the node slow gets it only when no other plugin takes it.
size_t first_taker(Judge& judge, const IRModule& module, const PassContext& context,
                   const Function& function, const UseCounts& uses, uint32_t node,
                   const std::vector<const Plugin*>& plugins, bool avoids_slow) {
  size_t slow = plugins.size();
  Verdict slow_verdict;
  for (size_t p = 0; p < plugins.size(); ++p) {
    if (judge.is_foreign(*plugins[p], function.nodes[node])) {
      remark_inside(context, judge, *plugins[p], function, node);
      continue;
    }
    const Verdict& verdict = judge.takes(*plugins[p], function, uses, node);
    if (avoids_slow && verdict.accept == Verdict::kSlow) {
      if (slow < plugins.size()) continue;
      slow = p;
      slow_verdict = verdict;
      continue;
    }
    remark_verdict(context, module, *plugins[p], function.nodes[node], verdict,
                   judge.has_called_plugin());
    if (verdict.accept == Verdict::kNo) continue;
    if (slow < plugins.size())
      remark_avoided(context, module, *plugins[slow], function, node, slow_verdict);
    return p;
  }
  if (slow == plugins.size()) return slow;
  if (is_for_default(judge, context, function, uses, node)) {
    remark_avoided(context, module, *plugins[slow], function, node, slow_verdict);
    return plugins.size();
  }
  remark_verdict(context, module, *plugins[slow], function.nodes[node], slow_verdict, true);
  return slow;
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
  const bool avoids_slow = avoids_slow_kernels(function, context);
  Taken counts;
  std::vector<Symbol> ids;
  for (const Plugin* plugin : plugins) ids.push_back(plugin->id());
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!is_candidate(module, function.nodes[node]) || annotations.region_of[node] != kOutside)
      continue;
    size_t p = first_taker(judge, module, context, function, uses, node, plugins, avoids_slow);
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

}  // namespace byoc
