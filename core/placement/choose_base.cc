// SPDX-License-Identifier: Apache-2.0
#include "core/placement/choose_base.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/base/check.h"
#include "core/placement/free_borders.h"

namespace byoc::placement {
namespace {

// Times the estimate of a default codegen alone. It computes attention and chains of convolutions
// in one kernel, which no estimate of a single op has: llvm takes 0.83 of onednn's time for BERT
// and 0.73 for GPT-2 (README.md), where the sums of estimates are equal.
constexpr double kWholeProgram = 0.9;

// Returns the plugin that costs least alone, "" without one.
std::string base_of(const FreeBorders& alone, const Candidates& candidates) {
  std::string out;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [id, ns] : alone.each) {
    const auto at =
        std::ranges::find(candidates.plugins, id, [](const Plugin* p) { return p->id(); });
    BYOC_CHECK(at != candidates.plugins.end(), id, " is no plugin of the candidates");
    const bool is_default =
        static_cast<size_t>(at - candidates.plugins.begin()) >= candidates.first_default;
    const double counted = is_default ? kWholeProgram * ns : ns;
    if (!(counted < least)) continue;
    least = counted;
    out = id;
  }
  return out;
}

// Returns "llvm runs what no other plugin runs clearly faster; alone: onednn 1903 us, llvm 812 us".
std::string base_text(const std::string& base, const FreeBorders& alone) {
  std::string out = cat(base, " runs what no other plugin runs clearly faster; alone:");
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
    if (!out.empty()) with_base.base = base_of(alone, out[0].candidates);
    if (!with_base.base.empty()) notes.certificates.push_back(base_text(with_base.base, alone));
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
