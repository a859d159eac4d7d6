// SPDX-License-Identifier: Apache-2.0
#include "core/placement/place.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/op/op.h"
#include "core/placement/cuts.h"
#include "core/region/annotate_function.h"
#include "core/region/composites.h"
#include "core/region/rewrite_annotations.h"

namespace byoc::placement {
namespace {

constexpr double kPicoseconds = 1000;  // per ns
// The share of an op's time that is saved when the default codegen computes it in the loop of the
// op before: the operand stays in registers.
constexpr double kFused = 0.9;

// Times the cost of a border when the analytic model has the cost of one side: what a plugin gains
// there is less certain than that the border costs something.
constexpr double kDoubt = 3;

// Times the estimate of an op by another plugin than the base of a choice. Of 290 single ops of
// networks, 70 % take less than 1.4 times their estimate by llvm or onednn (Sapphire Rapids, one
// thread), and those that take more are alike in both.
constexpr double kOpDoubt = 1.4;

class Builder {
 public:
  Builder(const IRModule& module, const Function& function, const Costs& costs,
          FunctionPlacement& out)
      : module_(module), function_(function), costs_(costs), out_(out), uses_(function) {}

  void run() {
    out_.problem_of.assign(function_.nodes.size(), kNone);
    for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
      if (!candidates_of(node).empty()) add_node(node);
    }
    for (uint32_t node : out_.node_of_state) add_edges(node);
    const PlacedOps ops{function_, out_.problem_of, out_.candidates.links,
                        [&](uint32_t v, uint32_t state) {
                          return place(candidates_of(out_.node_of_state[v])[state]);
                        }};
    out_.copies = add_copies(ops, out_.problem);
  }

 private:
  const std::vector<uint32_t>& candidates_of(uint32_t node) const {
    return out_.candidates.of_node[node];
  }
  const Candidate& candidate(uint32_t index) const { return out_.candidates.all[index]; }
  uint32_t place(uint32_t index) const { return out_.candidates.place_of[candidate(index).plugin]; }

  void add_node(uint32_t node) {
    std::vector<Cost> states;
    for (uint32_t index : candidates_of(node)) {
      const Candidate& one = candidate(index);
      const bool is_free = one.match != kNone && one.root != node && std::isfinite(one.cost.ns);
      states.push_back(is_free ? 0 : to_cost(doubted_ns(one)));  // a match is paid at its root
    }
    out_.problem_of[node] = out_.problem.add_node(states);
    out_.node_of_state.push_back(node);
  }

  // Returns the cost, which is more for the estimate of another plugin than the base.
  double doubted_ns(const Candidate& one) const {
    const bool is_estimate =
        one.cost.source == CandidateCost::kPlugin || one.cost.source == CandidateCost::kAnalytic;
    const bool is_base =
        costs_.base.empty() || out_.candidates.plugins[one.plugin]->id() == costs_.base;
    return is_estimate && !is_base ? kOpDoubt * one.cost.ns : one.cost.ns;
  }

  // Returns the operands that are placed too, each once, ascending.
  std::vector<uint32_t> producers(uint32_t node) const {
    std::vector<uint32_t> out;
    for (ValueId arg : function_.args(function_.nodes[node])) {
      if (out_.problem_of[arg.node] != kNone) out.push_back(arg.node);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  void add_edges(uint32_t node) {
    const std::vector<uint32_t> from = producers(node);
    for (uint32_t u : from) {
      const double call = costs_.machine.call_ns / static_cast<double>(from.size());
      const Border border{costs_.border_factor * call, move_ns(function_, costs_, u, node, 1)};
      add_edge(u, node, border, u == from.back() ? saved_by_fusion(u, node) : 0);
    }
  }

  // Returns what is saved when the default codegen runs both in one loop.
  double saved_by_fusion(uint32_t u, uint32_t v) const {
    auto* call = std::get_if<Call>(&function_.nodes[v].kind);
    if (call == nullptr || uses_.of_node(u) != 1) return 0;
    const FusionKind kind = call->op->kind;
    const bool fuses = kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast;
    auto* before = std::get_if<Call>(&function_.nodes[u].kind);
    if (!fuses || before == nullptr || before->op->kind == FusionKind::kOpaque) return 0;
    for (uint32_t index : candidates_of(v)) {
      const Candidate& one = candidate(index);
      if (one.is_rest && std::isfinite(one.cost.ns)) return kFused * one.cost.ns;
    }
    return 0;
  }

  // The cost of a value between two plugins: a call, and the move where both are on the host.
  struct Border {
    double call_ns, move_ns;
  };

  void add_edge(uint32_t u, uint32_t v, const Border& border, double saved) {
    const auto &rows = candidates_of(u), &columns = candidates_of(v);
    entries_.clear();
    for (uint32_t a : rows) {
      for (uint32_t b : columns) entries_.push_back(entry(u, v, a, b, border, saved));
    }
    BYOC_CHECK(entries_.size() == rows.size() * columns.size(), "an entry per pair of candidates");
    std::string key(reinterpret_cast<const char*>(entries_.data()), entries_.size() * sizeof(Cost));
    auto [at, is_new] = matrices_.try_emplace(std::move(key));
    if (is_new) at->second = out_.problem.add_matrix(entries_);
    out_.problem.add_edge(out_.problem_of[u], out_.problem_of[v], at->second);
  }

  bool covers(const Candidate& one, uint32_t node) const {
    if (one.match == kNone) return false;
    const std::vector<uint32_t>& nodes = out_.candidates.matches[one.match].nodes;
    return std::binary_search(nodes.begin(), nodes.end(), node);
  }

  // An estimate beside a base is no more certain than the analytic model.
  bool is_known(const Candidate& one) const {
    if (one.cost.source == CandidateCost::kPlugin) return costs_.base.empty();
    return one.cost.source != CandidateCost::kAnalytic;
  }

  Cost entry(uint32_t u, uint32_t v, uint32_t a, uint32_t b, const Border& border,
             double saved) const {
    if (a == b) return 0;
    const Candidate &one = candidate(a), &two = candidate(b);
    if (covers(one, v) || covers(two, u)) return kForbidden;  // a match is chosen as a whole
    if (one.is_rest && two.is_rest) return -to_cost(saved);
    if (one.plugin == two.plugin) return 0;
    const bool is_sure = is_known(one) && is_known(two);
    const bool is_copied = place(a) != kHostPlace || place(b) != kHostPlace;
    const double ns = border.call_ns + (is_copied ? 0 : border.move_ns);
    return to_cost(is_sure ? ns : kDoubt * ns);
  }

  const IRModule& module_;
  const Function& function_;
  const Costs& costs_;
  FunctionPlacement& out_;
  UseCounts uses_;
  std::vector<Cost> entries_;
  std::unordered_map<std::string, uint64_t> matrices_;
};

Status no_plugin(const IRModule& module, const Function& function,
                 const FunctionPlacement& placement, uint32_t node) {
  std::string why;
  for (uint32_t index : placement.candidates.of_node[node]) {
    const Candidate& one = placement.candidates.all[index];
    why += cat(why.empty() ? "" : ", ", placement.candidates.plugins[one.plugin]->id(), ": ",
               one.cost.note);
  }
  for (const Refusal& refusal : placement.candidates.refusals) {
    if (refusal.node == node && refusal.what == op_label(module, function.nodes[node]))
      why += cat(why.empty() ? "" : ", ", placement.candidates.plugins[refusal.plugin]->id(), ": ",
                 refusal.reason);
  }
  return invalid(cat("no plugin may run ", node_name(function, node), ": ", why))
      .with_slug("placement-rule")
      .with_help("remove a rule, or pin the op to a plugin that takes it")
      .at(cat("@", placement.function));
}

// Gives the ops of matches that were not chosen as a whole the cheapest plugin alone. The solver
// leaves such ops only where a heuristic went wrong.
void repair(FunctionPlacement& out) {
  for (uint32_t node : out.node_of_state) {
    const Candidate& one = out.candidates.all[out.chosen[node]];
    const auto nodes = out.candidates.nodes_of(one);
    if (std::all_of(nodes.begin(), nodes.end(),
                    [&](uint32_t k) { return out.chosen[k] == out.chosen[node]; }))
      continue;
    uint32_t best = kNone;
    for (uint32_t index : out.candidates.of_node[node]) {
      const Candidate& single = out.candidates.all[index];
      if (single.match == kNone &&
          (best == kNone || single.cost.ns < out.candidates.all[best].cost.ns))
        best = index;
    }
    if (best != kNone) out.chosen[node] = best;
  }
}

// Takes ops that another plugin may run alone from the default codegens.
void avoid_rest(Candidates& candidates) {
  auto is_rest = [&](uint32_t index) {
    return candidates.all[index].plugin >= candidates.first_default;
  };
  for (std::vector<uint32_t>& list : candidates.of_node) {
    const bool has_other = std::ranges::any_of(list, [&](uint32_t index) {
      const Candidate& one = candidates.all[index];
      return !is_rest(index) && one.match == kNone && std::isfinite(one.cost.ns);
    });
    if (has_other) std::erase_if(list, is_rest);
  }
}

}  // namespace

double to_ns(Cost cost) {
  return cost >= kForbidden ? std::numeric_limits<double>::infinity()
                            : static_cast<double>(cost) / kPicoseconds;
}

Cost to_cost(double ns) {
  if (!std::isfinite(ns)) return kForbidden;
  return static_cast<Cost>(std::min(ns * kPicoseconds, static_cast<double>(kMostCost)));
}

std::vector<CopiedValue> copies_of(const FunctionPlacement& placement,
                                   std::span<const uint8_t> state) {
  const size_t ops = placement.node_of_state.size();
  BYOC_CHECK(state.size() == ops + placement.copies.size(), "a state per node of the problem");
  std::vector<CopiedValue> out;
  for (size_t k = 0; k < placement.copies.size(); ++k) {
    for (const CopiedValue& copy :
         copies_of(placement.copies[k], state[ops + k], placement.candidates.links))
      out.push_back(copy);
  }
  return out;
}

void add_copy_states(const FunctionPlacement& placement, std::vector<uint8_t>& state) {
  const Problem& problem = placement.problem;
  const size_t ops = placement.node_of_state.size();
  BYOC_CHECK(state.size() == ops, "a state per op");
  std::vector<std::vector<Cost>> sums;
  for (size_t v = ops; v < problem.size(); ++v) {
    const auto costs = problem.costs(static_cast<uint32_t>(v));
    sums.emplace_back(costs.begin(), costs.end());
  }
  for (const Problem::Edge& edge : problem.edges) {
    if (edge.v < ops) continue;  // between two ops
    std::vector<Cost>& sum = sums[edge.v - ops];
    for (size_t k = 0; k < sum.size(); ++k)
      sum[k] = add(sum[k], problem.entries(edge)[state[edge.u] * sum.size() + k]);
  }
  for (const std::vector<Cost>& sum : sums)
    state.push_back(static_cast<uint8_t>(std::ranges::min_element(sum) - sum.begin()));
}

Result<FunctionPlacement> place_function(IRModule& module, Symbol name,
                                         const std::vector<std::string>& plugins,
                                         const Costs& costs, const PassContext& context) {
  BYOC_TRY(Candidates candidates, find_candidates(module, name, plugins, costs, context));
  if (costs.avoids_rest) avoid_rest(candidates);
  return place_candidates(module, name, std::move(candidates), costs);
}

Result<FunctionPlacement> place_candidates(const IRModule& module, Symbol name,
                                           Candidates candidates, const Costs& costs) {
  FunctionPlacement out;
  out.function = name;
  out.candidates = std::move(candidates);
  const Function& function = module.function(name);
  BYOC_CHECK(out.candidates.of_node.size() == function.nodes.size(), "the candidates are of ",
             out.candidates.of_node.size(), " nodes, @", name, " has ", function.nodes.size());
  Builder(module, function, costs, out).run();
  for (uint32_t v = 0; v < out.node_of_state.size(); ++v) {
    const auto states = out.problem.costs(v);
    if (std::all_of(states.begin(), states.end(), [](Cost c) { return c >= kForbidden; }))
      return no_plugin(module, function, out, out.node_of_state[v]);
  }
  solve_with_cuts(function, costs, out);
  out.chosen.assign(function.nodes.size(), kNone);
  for (uint32_t v = 0; v < out.node_of_state.size(); ++v) {
    const uint32_t node = out.node_of_state[v];
    BYOC_CHECK(out.solution.state[v] < out.candidates.of_node[node].size(), "node ", node,
               " has no candidate ", int{out.solution.state[v]});
    out.chosen[node] = out.candidates.of_node[node][out.solution.state[v]];
  }
  if (out.solution.cost >= kForbidden) repair(out);
  return out;
}

Result<std::vector<Symbol>> placed_functions(const IRModule& module) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  std::erase_if(order, [&](Symbol name) {
    const Function& function = module.function(name);
    return function.attrs.has("composite") || function.attrs.has("primitive") ||
           function.attrs.has("compiler");
  });
  return order;
}

Result<Function> apply_placement(IRModule& module, const FunctionPlacement& placement,
                                 const PassContext& context) {
  const Function& function = module.function(placement.function);
  const Candidates& candidates = placement.candidates;
  BYOC_CHECK(placement.chosen.size() == function.nodes.size(), "a choice per node");
  CompositePool pool(module);
  std::unordered_map<uint32_t, FormedComposite> formed;
  std::vector<uint8_t> dropped(function.nodes.size(), 0);
  std::vector<uint32_t> plugin_of;  // per node that is left, in order; kNone: no region
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    const uint32_t index = placement.chosen[node];
    if (index == kNone) {
      plugin_of.push_back(kNone);
      continue;
    }
    const Candidate& one = candidates.all[index];
    if (one.match != kNone && one.root != node) {
      dropped[node] = 1;
      continue;
    }
    plugin_of.push_back(one.is_rest ? kNone : one.plugin);
    if (one.match == kNone) continue;
    const Plugin& plugin = *candidates.plugins[one.plugin];
    const std::string composite = composite_name(plugin, plugin.patterns()[one.pattern]);
    const Match& match = candidates.matches[one.match];
    formed[node] = {pool.add(composite, composite_body(function, match, composite, plugin.id())),
                    match.inputs};
  }
  Function merged = with_composites(function, formed, dropped);
  BYOC_TRY(Annotations annotations, read_annotations(merged, placement.function));
  int64_t next = 0;
  for (const Region& region : annotations.regions) next = std::max(next, region.number + 1);
  annotations.region_of.resize(merged.nodes.size(), kOutside);
  for (uint32_t node = 0; node < merged.nodes.size(); ++node) {
    if (plugin_of[node] == kNone) continue;
    annotations.region_of[node] = static_cast<uint32_t>(annotations.regions.size());
    annotations.regions.push_back(
        {next++, Symbol(candidates.plugins[plugin_of[node]]->id()), true});
  }
  return rewrite_annotations(merged, annotations, *context.ops);
}

namespace {

// The nodes of `problem` from `ops` on are copies, which pay by themselves.
double border_ns(const Problem& problem, const Solution& solution, uint32_t v, size_t ops) {
  double sum = 0;
  for (const Problem::Edge& edge : problem.edges) {
    if (edge.u != v && edge.v != v) continue;
    const size_t row = solution.state[edge.u], column = solution.state[edge.v];
    const Cost cost = problem.matrix[edge.matrix + row * problem.states(edge.v) + column];
    if (cost > 0) sum += to_ns(cost);
    if (edge.v >= ops) sum += to_ns(problem.costs(edge.v)[column]);
  }
  return sum;
}

}  // namespace

std::vector<Alternative> alternatives(const FunctionPlacement& placement, uint32_t node) {
  BYOC_CHECK(node < placement.problem_of.size(), "@", placement.function, " has no node ", node);
  std::vector<Alternative> out;
  const uint32_t v = placement.problem_of[node];
  if (v == kNone) return out;
  const auto& candidates = placement.candidates.of_node[node];
  for (size_t k = 0; k < candidates.size(); ++k) {
    Problem forced = placement.problem;
    for (size_t state = 0; state < candidates.size(); ++state) {
      if (state != k) forced.cost[forced.first_state[v] + state] = kForbidden;
    }
    const Solution solution = solve(forced);
    out.push_back({candidates[k], to_ns(solution.cost),
                   border_ns(forced, solution, v, placement.node_of_state.size())});
  }
  return out;
}

double border_ns(const FunctionPlacement& placement, uint32_t node) {
  BYOC_CHECK(node < placement.problem_of.size(), "@", placement.function, " has no node ", node);
  const uint32_t v = placement.problem_of[node];
  return v == kNone
             ? 0
             : border_ns(placement.problem, placement.solution, v, placement.node_of_state.size());
}

}  // namespace byoc::placement
