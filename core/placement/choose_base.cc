// SPDX-License-Identifier: Apache-2.0
#include "core/placement/choose_base.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "core/placement/free_borders.h"

namespace byoc::placement {
namespace {

// Returns "llvm runs what no other plugin runs clearly faster; alone: onednn 1903 us, llvm 812 us".
std::string base_text(const FreeBorders& alone) {
  std::string out = cat(alone.alone, " runs what no other plugin runs clearly faster; alone:");
  const char* between = " ";
  for (const auto& [id, ns] : alone.each) {
    if (std::isfinite(ns)) out += cat(std::exchange(between, ", "), id, " ", ns / 1e3, " us");
  }
  return out;
}

std::string certificate(const FunctionPlacement& placement) {
  const Solution& solution = placement.solution;
  std::string out =
      cat("@", placement.function, ": predicted ", to_ns(solution.cost) / 1e3, " us, ");
  if (solution.is_optimal()) return out + "optimal under these costs";
  return cat(out, solution.heuristic_steps, " ops by heuristic, at least ",
             to_ns(solution.bound) / 1e3, " us");
}

}  // namespace

Result<std::vector<std::string>> without_estimates(IRModule& module,
                                                   const std::vector<std::string>& plugins,
                                                   const Costs& costs, const PassContext& context) {
  std::vector<uint8_t> takes(plugins.size(), 0), is_known(plugins.size(), 0);
  for (size_t p = 0; p < plugins.size(); ++p) {
    BYOC_TRY(const Plugin* plugin, context.plugins->get(plugins[p]));
    is_known[p] = costs.machine.has_times(plugins[p], version_and_build(*plugin));
  }
  BYOC_TRY(std::vector<Symbol> names, placed_functions(module));
  for (Symbol name : names) {
    BYOC_TRY(const Candidates candidates, find_candidates(module, name, plugins, costs, context));
    for (const Candidate& one : candidates.all) {
      if (one.plugin >= candidates.first_default) continue;
      BYOC_CHECK(one.plugin < plugins.size(), "candidates are of the plugins listed");
      takes[one.plugin] = 1;
      is_known[one.plugin] |= one.verdict.est_ns > 0 ||
                              one.cost.source == CandidateCost::kMeasured ||
                              one.cost.source == CandidateCost::kForbiddenByError;
    }
  }
  std::vector<std::string> out;
  for (size_t p = 0; p < plugins.size(); ++p) {
    if (takes[p] && !is_known[p]) out.push_back(plugins[p]);
  }
  return out;
}

Result<std::vector<FunctionPlacement>> place_functions(IRModule& module,
                                                       const std::vector<std::string>& plugins,
                                                       const Costs& costs,
                                                       const PassContext& context,
                                                       PlaceNotes& notes) {
  BYOC_TRY(std::vector<Symbol> names, placed_functions(module));
  std::vector<FunctionPlacement> out;
  for (Symbol name : names) {
    BYOC_TRY(FunctionPlacement placement, place_function(module, name, plugins, costs, context));
    out.push_back(std::move(placement));
  }
  if (costs.has_base) {
    const FreeBorders alone = free_borders(out);
    Costs with_base = costs;
    with_base.base = alone.alone;
    if (!alone.alone.empty()) notes.certificates.push_back(base_text(alone));
    for (FunctionPlacement& placement : out) {
      BYOC_TRY(placement, place_candidates(module, placement.function,
                                           std::move(placement.candidates), with_base));
    }
  }
  for (const FunctionPlacement& placement : out)
    notes.certificates.push_back(certificate(placement));
  return out;
}

}  // namespace byoc::placement
