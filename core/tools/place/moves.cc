// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/moves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace byoc::driver {
namespace {

using namespace placement;

constexpr int kReach = 2;  // edges from a moved op to ops that are chosen anew

class Mover {
 public:
  Mover(const IRModule& module, const FunctionPlacement& placement,
        const std::vector<uint8_t>& state)
      : module_(module),
        placement_(placement),
        problem_(placement.problem),
        incidence_(placement.problem),
        state_(state),
        local_(problem_.size(), kNone) {}

  std::vector<Move> run() {
    find_kinds();
    for (const auto& [kind, nodes] : kinds_) {
      std::set<uint32_t> plugins;
      for (uint32_t v : nodes) {
        for (uint32_t k = 0; k < problem_.states(v); ++k) {
          if (is_allowed(v, k) && plugin(v, k) != plugin(v, state_[v]))
            plugins.insert(plugin(v, k));
        }
      }
      for (uint32_t p : plugins) add_move(nodes, p);
    }
    std::stable_sort(moves_.begin(), moves_.end(),
                     [](const Move& a, const Move& b) { return a.hope_ns() > b.hope_ns(); });
    return std::move(moves_);
  }

 private:
  const Candidate& candidate(uint32_t v, uint32_t k) const {
    const Candidates& all = placement_.candidates;
    return all.all[all.of_node[placement_.node_of_state[v]][k]];
  }
  uint32_t plugin(uint32_t v, uint32_t k) const { return candidate(v, k).plugin; }
  bool is_allowed(uint32_t v, uint32_t k) const { return problem_.costs(v)[k] < kForbidden; }

  void find_kinds() {
    const Function& function = module_.function(placement_.function);
    for (uint32_t v = 0; v < placement_.node_of_state.size(); ++v) {
      const Candidate& one = candidate(v, state_[v]);
      const auto nodes = placement_.candidates.nodes_of(one);
      const Work work = nodes.size() == 1 ? work_of(module_, function, nodes[0])
                                          : work_of(function, nodes, one.root);
      kinds_[cat("op ", one.text)].push_back(v);
      kinds_[cat("class ", class_name(work.op_class))].push_back(v);
    }
  }

  // Moves those of `nodes` that the plugin takes.
  void add_move(const std::vector<uint32_t>& nodes, uint32_t to) {
    std::vector<uint32_t> free;
    auto take = [&](uint32_t v) {
      if (local_[v] != kNone) return;
      local_[v] = static_cast<uint32_t>(free.size());
      free.push_back(v);
    };
    auto takes = [&](uint32_t v) {
      for (uint32_t k = 0; k < problem_.states(v); ++k) {
        if (is_allowed(v, k) && plugin(v, k) == to) return true;
      }
      return false;
    };
    for (uint32_t v : nodes) {
      if (takes(v)) take(v);
    }
    const size_t moved = free.size();
    for (size_t step = 0, begin = 0; step < kReach; ++step) {
      const size_t end = free.size();
      for (size_t k = begin; k < end; ++k) {
        for (uint32_t e : incidence_.of(free[k])) {
          take(problem_.edges[e].u);
          take(problem_.edges[e].v);
        }
      }
      begin = end;
    }
    for (double share : {1.0, 1 - Move::kBorderDoubt}) add_solution(free, moved, to, share);
    for (uint32_t v : free) local_[v] = kNone;
  }

  // Returns an entry of an edge with a share of what is a border's.
  static Cost shared(Cost entry, double share) {
    if (entry <= 0 || entry >= kForbidden) return entry;
    return static_cast<Cost>(static_cast<double>(entry) * share);
  }
  Cost entry(const Problem::Edge& edge, uint32_t row, uint32_t column) const {
    return problem_.entries(edge)[row * problem_.states(edge.v) + column];
  }

  // The costs of a free node: its own, and those of its edges to nodes that stay.
  std::vector<Cost> costs_of(uint32_t v, double share) const {
    std::vector<Cost> out(problem_.costs(v).begin(), problem_.costs(v).end());
    for (uint32_t e : incidence_.of(v)) {
      const Problem::Edge& edge = problem_.edges[e];
      const uint32_t other = edge.u == v ? edge.v : edge.u;
      if (local_[other] != kNone) continue;
      for (uint32_t k = 0; k < out.size(); ++k) {
        const Cost cost =
            edge.u == v ? entry(edge, k, state_[other]) : entry(edge, state_[other], k);
        out[k] = add(out[k], shared(cost, share));
      }
    }
    return out;
  }

  // Returns the problem of the free nodes alone.
  Problem part_of(const std::vector<uint32_t>& free, double share) const {
    Problem part;
    for (uint32_t v : free) part.add_node(costs_of(v, share));
    std::vector<Cost> entries;
    for (uint32_t v : free) {
      for (uint32_t e : incidence_.of(v)) {
        const Problem::Edge& edge = problem_.edges[e];
        if (edge.u != v || local_[edge.v] == kNone) continue;
        entries.clear();
        for (Cost cost : problem_.entries(edge)) entries.push_back(shared(cost, share));
        part.add_edge(local_[v], local_[edge.v], part.add_matrix(entries));
      }
    }
    return part;
  }

  // Solves for the free nodes, of which the first ones are given to the plugin.
  void add_solution(const std::vector<uint32_t>& free, size_t moved, uint32_t to, double share) {
    Problem part = part_of(free, share);
    for (uint32_t v = 0; v < moved; ++v) {
      for (uint32_t s = 0; s < part.states(v); ++s) {
        if (plugin(free[v], s) != to) part.cost[part.first_state[v] + s] = kForbidden;
      }
    }
    const Solution solution = solve(part);
    if (solution.cost >= kForbidden) return;
    Move move;
    for (size_t k = 0; k < free.size(); ++k) {
      const uint8_t now = state_[free[k]];
      if (solution.state[k] == now) continue;
      move.changes.emplace_back(free[k], solution.state[k]);
      move.stake_ns += to_ns(problem_.costs(free[k])[now]);
    }
    if (move.changes.empty()) return;
    std::sort(move.changes.begin(), move.changes.end());
    price(free, solution.state, move);
    if (std::isfinite(move.predicted_ns)) moves_.push_back(std::move(move));
  }

  // Sets what the move adds to the costs of nodes and edges.
  void price(const std::vector<uint32_t>& free, const std::vector<uint8_t>& states,
             Move& move) const {
    auto state = [&](uint32_t v) { return local_[v] == kNone ? state_[v] : states[local_[v]]; };
    for (uint32_t v : free) {
      move.predicted_ns += to_ns(problem_.costs(v)[state(v)]) - to_ns(problem_.costs(v)[state_[v]]);
      for (uint32_t e : incidence_.of(v)) {
        const Problem::Edge& edge = problem_.edges[e];
        if (edge.u != v && local_[edge.u] != kNone) continue;  // once
        const Cost before = entry(edge, state_[edge.u], state_[edge.v]);
        const Cost after = entry(edge, state(edge.u), state(edge.v));
        move.predicted_ns += to_ns(after) - to_ns(before);
        move.border_ns += to_ns(std::max<Cost>(after, 0)) - to_ns(std::max<Cost>(before, 0));
      }
    }
  }

  const IRModule& module_;
  const FunctionPlacement& placement_;
  const Problem& problem_;
  const Incidence incidence_;
  const std::vector<uint8_t>& state_;
  std::map<std::string, std::vector<uint32_t>> kinds_;
  std::vector<uint32_t> local_;  // number in the part that is solved, kNone: stays
  std::vector<Move> moves_;
};

}  // namespace

std::vector<uint8_t> states_of(const FunctionPlacement& placement) {
  std::vector<uint8_t> out;
  for (uint32_t node : placement.node_of_state) {
    const std::vector<uint32_t>& list = placement.candidates.of_node[node];
    const auto at = std::find(list.begin(), list.end(), placement.chosen[node]);
    out.push_back(static_cast<uint8_t>(at - list.begin()));
  }
  add_copy_states(placement, out);
  return out;
}

std::vector<Move> moves_from(const IRModule& module, const FunctionPlacement& placement,
                             const std::vector<uint8_t>& state) {
  return Mover(module, placement, state).run();
}

}  // namespace byoc::driver
