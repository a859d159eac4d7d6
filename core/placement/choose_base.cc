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

double sum_ns(const std::vector<CopiedValue>& copies) {
  double out = 0;
  for (const CopiedValue& copy : copies) out += copy.ns;
  return out;
}

// Returns "3 ops stay on the host: sim takes 4 us instead of 9 us, and 2100 us for 5 more copies",
// "" when the device `place` runs no op of the host faster.
std::string home_text(const FunctionPlacement& placement, uint32_t place) {
  const Candidates& candidates = placement.candidates;
  std::vector<uint8_t> state = placement.solution.state;
  const std::vector<CopiedValue> now = copies_of(placement, state);
  state.resize(placement.node_of_state.size());
  double here_ns = 0, there_ns = 0;
  size_t ops = 0;
  for (uint32_t v = 0; v < state.size(); ++v) {
    const std::vector<uint32_t>& list = candidates.of_node[placement.node_of_state[v]];
    const Candidate& chosen = candidates.all[list[state[v]]];
    if (chosen.match != kNone || candidates.place_of[chosen.plugin] != kHostPlace) continue;
    for (uint32_t k = 0; k < list.size(); ++k) {
      const Candidate& one = candidates.all[list[k]];
      if (one.match != kNone || candidates.place_of[one.plugin] != place ||
          !(one.cost.ns < chosen.cost.ns))
        continue;
      here_ns += chosen.cost.ns;
      there_ns += one.cost.ns;
      state[v] = static_cast<uint8_t>(k);
      ++ops;
      break;
    }
  }
  if (ops == 0) return "";
  add_copy_states(placement, state);
  const std::vector<CopiedValue> then = copies_of(placement, state);
  const size_t more = then.size() - std::min(now.size(), then.size());
  return cat(ops, ops == 1 ? " op stays" : " ops stay",
             " on the host: ", candidates.links[place - 1].plugin, " takes ", there_ns / 1e3,
             " us instead of ", here_ns / 1e3, " us, and ",
             std::max(sum_ns(then) - sum_ns(now), 0.0) / 1e3, " us for ", more, " more copies");
}

// Returns what the links cost: the copies of the choice, and those that kept ops at home.
std::vector<std::string> copies_texts(const FunctionPlacement& placement) {
  std::vector<std::string> out;
  const std::vector<CopiedValue> copies = copies_of(placement, placement.solution.state);
  if (!copies.empty()) {
    double bytes = 0;
    for (const CopiedValue& copy : copies) bytes += copy.bytes;
    out.push_back(cat("@", placement.function, ": ", copies.size(), " copies of ", bytes,
                      " bytes, ", sum_ns(copies) / 1e3, " us of the predicted time"));
  }
  for (uint32_t place = 1; place <= placement.candidates.links.size(); ++place) {
    const Link& link = placement.candidates.links[place - 1];
    std::string text = home_text(placement, place);
    if (text.empty() && copies.empty()) continue;
    if (!text.empty()) out.push_back(cat("@", placement.function, ": ", text));
    if (!link.is_measured)
      out.push_back(cat("the link of ", link.plugin, " is assumed, ", link.in.latency_ns / 1e3,
                        " us and ", link.in.gb_per_s, " GB/s: byoc calibrate measures it"));
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
  for (const FunctionPlacement& placement : out) {
    notes.certificates.push_back(certificate(placement));
    for (std::string& text : copies_texts(placement)) notes.certificates.push_back(std::move(text));
  }
  return out;
}

}  // namespace byoc::placement
