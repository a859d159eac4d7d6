// SPDX-License-Identifier: Apache-2.0
// Encloses every op and composite that a plugin takes between compiler_begin and compiler_end, as
// an open region of its own.
//   before: %0 = relu(%x)
//   after:  %0 = compiler_begin(%x) {compiler="onednn", region=0, open=true}
//           %1 = relu(%0)
//           %2 = compiler_end(%1) {compiler="onednn", region=0, open=true}
#include <algorithm>

#include "byoc/ir/visit.h"
#include "byoc/pass/partition.h"
#include "core/region/annotate_function.h"

namespace byoc {

namespace {

// Returns whether a whole function can become a region: each result is the value of an op, and no
// two results are the same.
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
    if (has_attribute && annotated.attrs.has("global_symbol")) {
      context.remark({Report::Remark::kNote,
                      chosen[0]->id(),
                      "symbol",
                      {},
                      cat("global_symbol=\"", function.attr("global_symbol"),
                          "\" is not used: ", chosen[0]->id(),
                          " does not take the function whole, and its parts have names of their "
                          "own; byoc explain has the reasons")});
      annotated.attrs.erase("global_symbol");
    }
    annotated.attrs.erase("compiler");
    function = std::move(annotated);
  }
  return module;
}

}  // namespace byoc
