// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/corrections.h"

#include <algorithm>
#include <set>

#include "byoc/pass/partition.h"
#include "core/region/annotate_function.h"
#include "core/region/annotations.h"
#include "core/region/inline_call.h"

namespace byoc::driver {
namespace {

using placement::Candidate;
using placement::FunctionPlacement;
using placement::kNone;
using Key = std::pair<std::string, std::string>;  // plugin, text

constexpr double kLeast = 0.25, kMost = 4;   // of a factor
constexpr double kLeastBorders = 0.01;       // of a program whose borders are corrected
constexpr double kLeastPredictedNs = 10000;  // of a plugin's part in a program that gives a factor

struct Sums {
  double predicted = 0, measured = 0;
};

class Corrector {
 public:
  Corrector(const std::map<std::string, double>& step_ns, placement::Costs& costs)
      : step_ns_(step_ns), costs_(costs) {}

  void add(const FunctionPlacement& placement, const Function& merged,
           const Annotations& annotations) {
    const std::vector<uint32_t> chosen = chosen_ops(placement);
    std::map<uint32_t, std::vector<const Candidate*>> members;  // of a region; kOutside: the rest
    size_t next = 0;
    for (uint32_t node = 0; node < merged.nodes.size() && next < chosen.size(); ++node) {
      const Node& n = merged.nodes[node];
      if (is_annotation(n) || std::holds_alternative<Param>(n.kind) ||
          std::holds_alternative<Constant>(n.kind))
        continue;
      const uint32_t index = chosen[next++];
      if (index == kNone) continue;
      members[annotations.region_of[node]].push_back(&placement.candidates.all[index]);
    }
    for (const auto& [region, ops] : members) {
      if (region == kOutside) {
        add_rest(placement, ops);
        continue;
      }
      const Region& r = annotations.regions[region];
      const std::string symbol = cat(r.compiler, "_", placement.function, "_", r.number);
      auto step = step_ns_.find(symbol);
      if (step == step_ns_.end()) continue;
      seen_.insert(symbol);
      double predicted = costs_.machine.call_ns;
      for (const Candidate* one : ops) predicted += one->cost.ns;
      spread(placement, ops, step->second / predicted);
    }
  }

  void finish() {
    double measured = 0;
    for (const auto& [symbol, ns] : step_ns_) measured += seen_.contains(symbol) ? 0 : ns;
    if (rest_ns_ > 0) {
      for (const auto& [key, ns] : rest_) {
        sums_[key].predicted += ns;
        sums_[key].measured += ns * measured / rest_ns_;
      }
    }
    std::map<std::string, Sums> plugins;
    for (const auto& [key, sums] : sums_) {
      if (sums.predicted <= 0) continue;
      plugins[key.first].predicted += sums.predicted;
      plugins[key.first].measured += sums.measured;
      // A correction replaces the factor, which was part of the prediction.
      const double factor = costs_.factor_of(key.first);
      auto [at, is_new] = costs_.corrections.try_emplace(key, 0.0);
      if (is_new) at->second = sums.predicted / uses_[key] * (1 - 1 / factor);
      at->second += (sums.measured - sums.predicted) / uses_[key];
    }
    for (const auto& [plugin, sums] : plugins) set_factor(plugin, sums);
  }

 private:
  // Returns the candidates of the nodes that apply_placement leaves, in order.
  static std::vector<uint32_t> chosen_ops(const FunctionPlacement& placement) {
    std::vector<uint32_t> out;
    for (uint32_t node = 0; node < placement.chosen.size(); ++node) {
      const uint32_t index = placement.chosen[node];
      if (index == kNone) continue;
      const Candidate& one = placement.candidates.all[index];
      if (one.root == node) out.push_back(index);
    }
    return out;
  }
  // Sets the factor of a plugin once, by its first program: later ones have corrected candidates.
  void set_factor(const std::string& plugin, const Sums& sums) {
    if (sums.predicted < kLeastPredictedNs || sums.measured <= 0) return;
    costs_.factors.try_emplace(plugin, std::clamp(sums.measured / sums.predicted, kLeast, kMost));
  }
  static Key key_of(const FunctionPlacement& placement, const Candidate& one) {
    return {placement.candidates.plugins[one.plugin]->id(), one.text};
  }
  void spread(const FunctionPlacement& placement, const std::vector<const Candidate*>& ops,
              double factor) {
    for (const Candidate* one : ops) {
      const Key key = key_of(placement, *one);
      sums_[key].predicted += one->cost.ns;
      sums_[key].measured += one->cost.ns * factor;
      ++uses_[key];
    }
  }
  void add_rest(const FunctionPlacement& placement, const std::vector<const Candidate*>& ops) {
    for (const Candidate* one : ops) {
      rest_[key_of(placement, *one)] += one->cost.ns;
      rest_ns_ += one->cost.ns;
      ++uses_[key_of(placement, *one)];
    }
    const placement::Problem& problem = placement.problem;
    for (const placement::Problem::Edge& edge : problem.edges) {  // what fusion saves
      const size_t row = placement.solution.state[edge.u];
      const placement::Cost cost = problem.matrix[edge.matrix + row * problem.states(edge.v) +
                                                  placement.solution.state[edge.v]];
      if (cost < 0) rest_ns_ += placement::to_ns(cost);
    }
  }

  const std::map<std::string, double>& step_ns_;
  placement::Costs& costs_;
  std::map<Key, Sums> sums_;
  std::map<Key, double> uses_, rest_;
  double rest_ns_ = 0;
  std::set<std::string> seen_;
};

}  // namespace

bool correct_borders(const std::vector<FunctionPlacement>& placements,
                     const std::map<std::string, double>& step_ns, placement::Costs& costs) {
  double measured = 0, nodes = 0, borders = 0;
  for (const auto& [symbol, ns] : step_ns) measured += ns;
  for (const FunctionPlacement& placement : placements) {
    const placement::Problem& problem = placement.problem;
    const std::vector<uint8_t>& state = placement.solution.state;
    for (uint32_t v = 0; v < placement.node_of_state.size(); ++v)  // copies are no kernels
      nodes += placement::to_ns(problem.costs(v)[state[v]]);
    for (const placement::Problem::Edge& edge : problem.edges) {
      const size_t at = edge.matrix + state[edge.u] * problem.states(edge.v) + state[edge.v];
      const double ns = placement::to_ns(problem.matrix[at]);
      (ns > 0 ? borders : nodes) += ns;
    }
  }
  if (!(borders > kLeastBorders * measured)) return false;
  costs.border_factor *= std::clamp((measured - nodes) / borders, kLeast, kMost);
  return true;
}

Status correct_costs(const IRModule& placed, const std::vector<FunctionPlacement>& placements,
                     const std::map<std::string, double>& step_ns, const PassContext& context,
                     placement::Costs& costs) {
  IRModule annotated = placed;
  for (const FunctionPlacement& placement : placements) {
    BYOC_TRY(annotated.function(placement.function),
             placement::apply_placement(annotated, placement, context));
  }
  BYOC_TRY(annotated, merge_compiler_regions(std::move(annotated), context));
  Corrector corrector(step_ns, costs);
  for (const FunctionPlacement& placement : placements) {
    const Function& merged = annotated.function(placement.function);
    BYOC_TRY(Annotations annotations, read_annotations(merged, placement.function));
    annotations.region_of.resize(merged.nodes.size(), kOutside);
    corrector.add(placement, merged, annotations);
  }
  corrector.finish();
  return {};
}

}  // namespace byoc::driver
