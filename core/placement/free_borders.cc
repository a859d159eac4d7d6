// SPDX-License-Identifier: Apache-2.0
#include "core/placement/free_borders.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/base/check.h"

namespace byoc::placement {
namespace {

double free_ns(const FunctionPlacement& placement) {
  Problem problem = placement.problem;
  for (Cost& cost : problem.matrix) {
    if (cost < kForbidden) cost = std::min<Cost>(cost, 0);  // what fusion saves stays
  }
  for (size_t v = placement.node_of_state.size(); v < problem.size(); ++v) {  // copies
    for (size_t k = problem.first_state[v]; k < problem.first_state[v + 1]; ++k)
      problem.cost[k] = 0;
  }
  return to_ns(solve(problem).bound);
}

// Returns the least cost when the plugin has all ops that it takes alone, infinity when an op has
// no candidate then.
double alone_ns(const FunctionPlacement& placement, uint32_t plugin) {
  const Candidates& candidates = placement.candidates;
  BYOC_CHECK(plugin < candidates.plugins.size(), "functions have the same plugins");
  Problem problem = placement.problem;
  for (uint32_t v = 0; v < placement.node_of_state.size(); ++v) {
    const std::vector<uint32_t>& list = candidates.of_node[placement.node_of_state[v]];
    const bool takes = std::ranges::any_of(list, [&](uint32_t index) {
      const Candidate& one = candidates.all[index];
      return one.plugin == plugin && one.match == kNone && std::isfinite(one.cost.ns);
    });
    for (uint32_t k = 0; k < list.size(); ++k) {
      const uint32_t owner = candidates.all[list[k]].plugin;
      const bool is_allowed = owner == plugin || (!takes && owner >= candidates.first_default);
      if (!is_allowed) problem.cost[problem.first_state[v] + k] = kForbidden;
    }
  }
  return to_ns(solve(problem).cost);
}

bool takes_some(const std::vector<FunctionPlacement>& functions, uint32_t plugin) {
  return std::ranges::any_of(functions, [&](const FunctionPlacement& function) {
    return std::ranges::any_of(function.candidates.all,
                               [&](const Candidate& one) { return one.plugin == plugin; });
  });
}

}  // namespace

FreeBorders free_borders(const std::vector<FunctionPlacement>& functions) {
  FreeBorders out;
  if (functions.empty()) return out;
  for (const FunctionPlacement& function : functions) out.free_ns += free_ns(function);
  const Candidates& first = functions[0].candidates;
  out.alone_ns = std::numeric_limits<double>::infinity();
  for (uint32_t plugin = 0; plugin < first.plugins.size(); ++plugin) {
    if (!takes_some(functions, plugin)) continue;
    double sum = 0;
    for (const FunctionPlacement& function : functions) sum += alone_ns(function, plugin);
    out.each.emplace_back(first.plugins[plugin]->id(), sum);
    if (!(sum < out.alone_ns)) continue;
    out.alone_ns = sum;
    out.alone = first.plugins[plugin]->id();
  }
  if (!std::isfinite(out.alone_ns)) out.alone_ns = 0;
  return out;
}

}  // namespace byoc::placement
