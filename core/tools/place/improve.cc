// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/improve.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "byoc/base/clock.h"
#include "core/measure/statistic.h"
#include "core/tools/place/moves.h"

namespace byoc::driver {
namespace {

using namespace placement;

constexpr size_t kAtOnce = 6;         // moves of a contest
constexpr double kLeastStake = 0.01;  // of the predicted time, for a move that is tried
constexpr double kLeastGain = 0.997;  // a smaller one is not worth keeping
constexpr double kTurnTime_s = 0.3;   // of each program of a contest
constexpr uint32_t kRounds = 16;

using States = std::vector<std::vector<uint8_t>>;  // by function

// A move of one function.
struct Step {
  size_t function = 0;
  Move move;
};

class Improver {
 public:
  explicit Improver(const ImproveRequest& request) : request_(request), begin_ns_(now_ns()) {}

  Result<Improvement> run(Plan plan) {
    BYOC_TRY_STATUS(read(plan));
    out_.plan = std::move(plan);
    out_.plan.order.reset();
    tried_.insert(choices_of(states_));
    while (has_time()) {
      const std::vector<Step> steps = next_steps();
      if (steps.empty()) break;
      BYOC_TRY_STATUS(try_steps(steps));
    }
    return std::move(out_);
  }

 private:
  double seconds() const { return ns_since(begin_ns_) / 1e9; }
  bool has_time() const {
    if (request_.progress)
      request_.progress(static_cast<uint64_t>(std::min(seconds(), request_.seconds)),
                        static_cast<uint64_t>(request_.seconds));
    return seconds() < request_.seconds;
  }

  // Reads the states of all functions from the plan.
  Status read(const Plan& plan) {
    const std::vector<std::string>& plugins = request_.context.compilers;
    BYOC_TRY(std::vector<Symbol> names, placed_functions(request_.placed));
    for (Symbol name : names) {
      BYOC_TRY(FunctionPlacement all,
               place_function(request_.placed, name, plugins, request_.costs, request_.context));
      if (plan.order) {
        choose_by_priority(*plan.order, all);
      } else {
        BYOC_TRY(FunctionPlacement planned, planned_function(request_.placed, name, plan, plugins,
                                                             request_.costs, request_.context));
        all.chosen = std::move(planned.chosen);
      }
      states_.push_back(states_of(all));
      predicted_ns_ += to_ns(cost_of(all.problem, states_.back()));
      functions_.push_back(std::move(all));
    }
    return {};
  }

  // Gives each op to the first of the plugins that takes it, in the largest match of the highest
  // priority; the rest to the default codegens.
  static void choose_by_priority(const std::vector<std::string>& order, FunctionPlacement& out) {
    const Candidates& candidates = out.candidates;
    out.chosen.assign(out.chosen.size(), kNone);
    auto choose = [&](auto&& is_wanted) {
      for (uint32_t index = 0; index < candidates.all.size(); ++index) {
        const Candidate& one = candidates.all[index];
        const auto nodes = candidates.nodes_of(one);
        const bool is_free =
            std::ranges::all_of(nodes, [&](uint32_t node) { return out.chosen[node] == kNone; });
        if (!is_free || !std::isfinite(one.cost.ns) || !is_wanted(one)) continue;
        for (uint32_t node : nodes) out.chosen[node] = index;
      }
    };
    for (const std::string& id : order) {
      auto is_of = [&](const Candidate& one) { return candidates.plugins[one.plugin]->id() == id; };
      choose([&](const Candidate& one) { return one.match != kNone && is_of(one); });
      choose(
          [&](const Candidate& one) { return one.match == kNone && !one.is_rest && is_of(one); });
    }
    choose([&](const Candidate& one) { return one.is_rest; });
    choose([&](const Candidate& one) { return one.match == kNone; });
  }

  // Returns the plan of these states.
  Plan plan_of(const States& states) const {
    Plan plan = out_.plan;
    plan.functions.clear();
    for (size_t f = 0; f < functions_.size(); ++f) {
      FunctionPlacement placement = functions_[f];
      for (uint32_t v = 0; v < placement.node_of_state.size(); ++v) {
        const uint32_t node = placement.node_of_state[v];
        placement.chosen[node] = placement.candidates.of_node[node][states[f][v]];
      }
      add_choices(request_.placed, placement, plan);
    }
    return plan;
  }
  std::string choices_of(const States& states) const {
    std::string out;
    for (const std::vector<uint8_t>& state : states) out.append(state.begin(), state.end());
    return out;
  }
  static States moved(States states, const Step& step) {
    for (const auto& [v, state] : step.move.changes) states[step.function][v] = state;
    return states;
  }

  // Returns the moves from the present states that look best and were not tried.
  std::vector<Step> next_steps() {
    std::vector<Step> all, out;
    for (size_t f = 0; f < functions_.size(); ++f) {
      for (Move& move : moves_from(request_.placed, functions_[f], states_[f]))
        all.push_back({f, std::move(move)});
    }
    std::stable_sort(all.begin(), all.end(), [](const Step& a, const Step& b) {
      return a.move.hope_ns() > b.move.hope_ns();
    });
    for (Step& step : all) {
      if (out.size() == kAtOnce) break;
      if (step.move.stake_ns < kLeastStake * predicted_ns_) continue;
      if (tried_.insert(choices_of(moved(states_, step))).second) out.push_back(std::move(step));
    }
    return out;
  }

  // Times the present plan and others in turns. Returns the ratios of the others, infinite for one
  // that fails or is not faster beyond noise.
  Result<std::vector<double>> ratios(const std::vector<States>& others) {
    std::vector<Entrant> entrants;
    for (size_t k = 0; k <= others.size(); ++k) {
      const Plan plan = plan_of(k == 0 ? states_ : others[k - 1]);
      const std::string path = cat(request_.folder, "/improve-", k, ".json");
      BYOC_TRY_STATUS(write_plan(plan, path));
      entrants.push_back({cat("move ", k), request_.build.compilers, path, Entrant::kPlan});
    }
    ContestPlan contest = request_.contest;
    contest.rounds = kRounds, contest.times_steps = false;
    contest.min_time_s = std::min(contest.min_time_s, kTurnTime_s);
    BYOC_TRY(std::vector<EntrantResult> results,
             run_contest(request_.given, request_.build, entrants, contest));
    if (!results[0].error.empty())
      return failed(cat("the plan to improve does not run: ", results[0].error)).with_slug("place");
    std::vector<double> out;
    for (size_t k = 1; k < results.size(); ++k) {
      const measure::Ratio ratio = measure::ratio_of(results[0].block_ns, results[k].block_ns);
      const bool is_faster = results[k].error.empty() && ratio.high < 1 && ratio.ratio < kLeastGain;
      out.push_back(is_faster ? ratio.ratio : INFINITY);
    }
    return out;
  }

  Status try_steps(const std::vector<Step>& steps) {
    out_.tried += steps.size();
    std::vector<States> others;
    for (const Step& step : steps) others.push_back(moved(states_, step));
    BYOC_TRY(std::vector<double> single, ratios(others));
    std::vector<size_t> order;
    for (size_t k = 0; k < steps.size(); ++k) {
      if (single[k] < 1) order.push_back(k);
    }
    if (order.empty()) return {};
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return single[a] < single[b]; });
    return keep(steps, order);
  }

  // Times the first of the moves in `order`, and all of them, once more, and keeps what is faster.
  Status keep(const std::vector<Step>& steps, const std::vector<size_t>& order) {
    std::vector<States> next = {moved(states_, steps[order[0]])};
    States all = states_;
    std::set<std::pair<size_t, uint32_t>> changed;
    size_t kept = 0;
    for (size_t k : order) kept += add(steps[k], changed, all) ? 1 : 0;
    if (kept > 1) next.push_back(std::move(all));
    BYOC_TRY(std::vector<double> again, ratios(next));
    const bool is_all = kept > 1 && again[1] < again[0];
    if (!(again[is_all ? 1 : 0] < 1)) return {};
    take(std::move(next[is_all ? 1 : 0]));
    out_.kept += is_all ? kept : 1;
    out_.ratio *= again[is_all ? 1 : 0];
    out_.plan = plan_of(states_);
    return {};
  }

  void take(States next) {
    tried_.insert(choices_of(next));
    for (size_t f = 0; f < functions_.size(); ++f)
      predicted_ns_ += to_ns(cost_of(functions_[f].problem, next[f])) -
                       to_ns(cost_of(functions_[f].problem, states_[f]));
    states_ = std::move(next);
  }

  // Adds a move to `states` unless another one has changed one of its ops.
  static bool add(const Step& step, std::set<std::pair<size_t, uint32_t>>& changed,
                  States& states) {
    const auto& changes = step.move.changes;
    if (std::ranges::any_of(changes, [&](const auto& change) {
          return changed.contains({step.function, change.first});
        }))
      return false;
    for (const auto& change : changes) changed.emplace(step.function, change.first);
    states = moved(std::move(states), step);
    return true;
  }

  const ImproveRequest& request_;
  const uint64_t begin_ns_;
  std::vector<FunctionPlacement> functions_;
  States states_;
  double predicted_ns_ = 0;
  std::set<std::string> tried_;
  Improvement out_;
};

}  // namespace

Result<Improvement> improve_plan(Plan plan, const ImproveRequest& request) {
  return Improver(request).run(std::move(plan));
}

}  // namespace byoc::driver
