// SPDX-License-Identifier: Apache-2.0
#include "core/placement/cuts.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/base/disjoint_sets.h"

namespace byoc::placement {
namespace {

constexpr uint32_t kSolves = 4;
constexpr double kReorders = 2;  // out of one region, and into the next one

// The cuts of one choice of states. A match counts as its root.
class Cuts {
 public:
  Cuts(const Function& function, const Costs& costs, const FunctionPlacement& placement,
       const std::vector<uint8_t>& state)
      : function_(function),
        costs_(costs),
        candidates_(placement.candidates),
        choice_(function.nodes.size(), kNone),
        level_(function.nodes.size(), 0),
        sets_(function.nodes.size()) {
    BYOC_CHECK(state.size() >= placement.node_of_state.size(), "a state per op");
    for (uint32_t v = 0; v < placement.node_of_state.size(); ++v) {
      const uint32_t node = placement.node_of_state[v];
      BYOC_CHECK(state[v] < candidates_.of_node[node].size(), "node ", node, " has no candidate ",
                 int{state[v]});
      choice_[node] = candidates_.of_node[node][state[v]];
    }
    find_edges();
    find_levels();
    join_sets();
    find_cuts();
  }

  double total_ns() const { return total_ns_; }

  // Returns, per node, what it has to pay in every state of another plugin than `payee`.
  struct Penalty {
    uint32_t payee = kNone;
    double ns = 0;
  };
  std::vector<Penalty> penalties() {
    std::vector<Penalty> of_set(function_.nodes.size()), out(function_.nodes.size());
    for (size_t k = 0; k < blamed_.size();) {
      size_t end = k;
      while (end < blamed_.size() && blamed_[end].first == blamed_[k].first) ++end;
      const uint32_t region = blamed_[k].first;
      for (size_t i = k; i < end; ++i) {
        Penalty& penalty = of_set[blamed_[i].second];
        penalty.payee = plugin(region);
        penalty.ns += cut_ns_[region] / static_cast<double>(end - k);
      }
      k = end;
    }
    std::vector<uint32_t> size(function_.nodes.size(), 0);
    for (uint32_t node = 0; node < choice_.size(); ++node)
      size[sets_.find(node)] += choice_[node] != kNone ? 1 : 0;
    for (uint32_t node = 0; node < choice_.size(); ++node) {
      const uint32_t set = sets_.find(node);
      if (choice_[node] == kNone || of_set[set].payee == kNone) continue;
      BYOC_CHECK(size[set] > 0, "the set of node ", node, " has it");
      out[node] = {of_set[set].payee, of_set[set].ns / size[set]};
    }
    return out;
  }

 private:
  struct Edge {
    uint32_t from, to, producer, reader;  // from, to: roots
  };

  uint32_t root(uint32_t node) const { return candidates_.all[choice_[node]].root; }
  uint32_t plugin(uint32_t node) const { return candidates_.all[choice_[node]].plugin; }
  bool has_regions(uint32_t node) const { return plugin(node) < candidates_.first_default; }

  // Finds the edges between roots, ascending by reader's root.
  void find_edges() {
    for (uint32_t node = 0; node < choice_.size(); ++node) {
      if (choice_[node] == kNone) continue;
      uint32_t last = kNone;  // x * x reads x once
      for (ValueId arg : function_.args(function_.nodes[node])) {
        if (choice_[arg.node] == kNone || arg.node == last) continue;
        last = arg.node;
        if (root(arg.node) != root(node))
          edges_.push_back({root(arg.node), root(node), arg.node, node});
      }
    }
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const Edge& a, const Edge& b) { return a.to < b.to; });
  }

  // The level of an op grows along every edge between two plugins. Ops of a plugin with equal
  // levels can be one region.
  void find_levels() {
    for (const Edge& edge : edges_)
      level_[edge.to] = std::max(
          level_[edge.to], level_[edge.from] + (plugin(edge.from) != plugin(edge.to) ? 1 : 0));
  }

  // Joins the ops of one region, and neighbours of one default codegen.
  void join_sets() {
    for (uint32_t node = 0; node < choice_.size(); ++node) {
      if (choice_[node] != kNone && root(node) != node) sets_.join(node, root(node));
    }
    for (const Edge& edge : edges_) {
      if (plugin(edge.from) != plugin(edge.to)) continue;
      if (!has_regions(edge.to) || level_[edge.from] == level_[edge.to])
        sets_.join(edge.from, edge.to);
    }
  }

  // Adds up the values that cross between two regions of one plugin, by the reader's region, and
  // blames the ops of others that this region reads.
  void find_cuts() {
    cut_ns_.assign(function_.nodes.size(), 0);
    for (const Edge& edge : edges_) {
      const uint32_t region = sets_.find(edge.to);
      if (plugin(edge.from) != plugin(edge.to)) {
        if (has_regions(edge.to)) blamed_.emplace_back(region, sets_.find(edge.from));
      } else if (has_regions(edge.to) && sets_.find(edge.from) != region) {
        double ns = costs_.border_factor * costs_.machine.call_ns;
        if (candidates_.place_of[plugin(edge.to)] == kHostPlace)
          ns += move_ns(function_, costs_, edge.producer, edge.reader, kReorders);
        cut_ns_[region] += ns;
        total_ns_ += ns;
      }
    }
    std::sort(blamed_.begin(), blamed_.end());
    blamed_.erase(std::unique(blamed_.begin(), blamed_.end()), blamed_.end());
    std::erase_if(blamed_, [&](const auto& pair) { return cut_ns_[pair.first] == 0; });
  }

  const Function& function_;
  const Costs& costs_;
  const Candidates& candidates_;
  std::vector<uint32_t> choice_, level_;  // per node: candidate; level of a root
  DisjointSets sets_;
  std::vector<Edge> edges_;
  std::vector<double> cut_ns_;                         // by region
  std::vector<std::pair<uint32_t, uint32_t>> blamed_;  // region, set of ops that cuts it
  double total_ns_ = 0;
};

// Adds what nodes pay to their states of other plugins than the payee.
void add_penalties(const std::vector<Cuts::Penalty>& penalties, const FunctionPlacement& placement,
                   Problem& problem) {
  BYOC_CHECK(problem.size() == placement.node_of_state.size() + placement.copies.size(),
             "the problem is of the placement");
  for (uint32_t v = 0; v < placement.node_of_state.size(); ++v) {
    const uint32_t node = placement.node_of_state[v];
    if (penalties[node].payee == kNone) continue;
    const Cost cost = to_cost(penalties[node].ns);
    for (uint32_t k = 0; k < problem.states(v); ++k) {
      const uint32_t index = placement.candidates.of_node[node][k];
      Cost& state = problem.cost[problem.first_state[v] + k];
      if (placement.candidates.all[index].plugin != penalties[node].payee) state = add(state, cost);
    }
  }
}

}  // namespace

double move_ns(const Function& function, const Costs& costs, uint32_t producer, uint32_t reader,
               double reorders) {
  BYOC_CHECK(producer < reader && reader < function.nodes.size(), "node ", reader, " reads ",
             producer);
  double bytes = 0;
  bool is_image = false;
  for (ValueId arg : function.args(function.nodes[reader])) {
    if (arg.node != producer) continue;
    const Result<int64_t> size = size_bytes(*function.type(arg));
    bytes += size.ok() ? static_cast<double>(*size) : 0;
    is_image |= function.type(arg)->shape.size() == 4;
  }
  double ns = costs.machine.bytes_ns(bytes);
  // Plugins keep images in layouts of their own inside of a region.
  if (is_image) ns += reorders * bytes / costs.machine.reorder_gb_per_s;
  return costs.border_factor * ns;
}

void solve_with_cuts(const Function& function, const Costs& costs, FunctionPlacement& placement) {
  Problem problem = placement.problem;
  Cost least = kForbidden;
  for (uint32_t k = 0; k < kSolves; ++k) {
    Solution solution = solve(problem);
    if (k == 0) placement.solution = solution;
    if (solution.cost >= kForbidden) return;
    Cuts cuts(function, costs, placement, solution.state);
    const Cost total = add(cost_of(placement.problem, solution.state), to_cost(cuts.total_ns()));
    if (k > 0 && total >= least) return;
    least = total;
    placement.solution.state = std::move(solution.state);
    placement.solution.cost = total;
    placement.solution.heuristic_steps = solution.heuristic_steps;
    if (cuts.total_ns() == 0) return;
    add_penalties(cuts.penalties(), placement, problem);
  }
}

}  // namespace byoc::placement
