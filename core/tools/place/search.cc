// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/search.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "byoc/base/clock.h"
#include "byoc/pass/passes.h"
#include "core/tools/place/alone.h"
#include "core/tools/place/calibrate.h"
#include "core/tools/place/corrections.h"
#include "core/tools/place/improve.h"
#include "core/tools/place/measure_candidates.h"
#include "runtime/base/temporary.h"
#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

using namespace placement;
namespace fs = std::filesystem;

constexpr const char* kEarlier = "an earlier plan";
constexpr uint32_t kBorderRounds = 2;
constexpr double kHopeless = 1.25;  // times the fastest: not timed again
constexpr double kClose = 1.05;     // entrants so near to the fastest are timed once more

class Search {
 public:
  explicit Search(const PlaceRequest& request) : request_(request), build_(request.build) {
    build_.options["costs"] = request.folder;
    build_.options.try_emplace("plan", "none");
    build_.report = nullptr;
    std::erase(build_.compilers, "auto");
    named_ = build_.compilers;
    build_.compilers.insert(build_.compilers.begin(), "auto");
  }

  Result<PlaceOutcome> run(IRModule module) {
    const uint64_t begin_ns = now_ns();
    BYOC_TRY(context_, make_context(module, build_));
    BYOC_TRY_STATUS(check_static_inputs(module));
    const IRModule given = module;
    BYOC_TRY(placed_, before_placement(std::move(module), context_));
    BYOC_TRY(costs_, costs_of(context_));
    out_.remarks = costs_.remarks;
    for (std::string& text : unused_rules(placed_, costs_.rules))
      out_.remarks.push_back(std::move(text));
    if (request_.measures)
      BYOC_TRY_STATUS(measure_candidates(placed_, build_, request_, context_, costs_, out_));
    TemporaryFolder folder(request_.folder);
    read_earlier_plan();
    BYOC_TRY_STATUS(solve_rounds(given, folder.path));
    if (request_.measures) {
      BYOC_TRY_STATUS(hold_contest(given, folder.path));
    } else {
      out_.plan = plans_[0];
    }
    PlaceNotes notes;
    BYOC_TRY(out_.annotated,
             place_module(placed_, context_.compilers, costs_, &out_.plan, context_, notes));
    out_.remarks.insert(out_.remarks.end(), notes.warnings.begin(), notes.warnings.end());
    BYOC_TRY_STATUS(write_plan(out_.plan, plan_path(request_.folder, out_.plan)));
    out_.seconds = ns_since(begin_ns) / 1e9;
    return std::move(out_);
  }

 private:
  struct TemporaryFolder {
    explicit TemporaryFolder(const std::string& folder) : path(cat(folder, "/place-", getpid())) {
      std::error_code error;
      fs::create_directories(path, error);
    }
    ~TemporaryFolder() {
      std::error_code error;
      fs::remove_all(path, error);
    }
    std::string path;
    TemporaryPath removed_on_signals{path};
  };

  void show(std::string_view what, uint64_t done, uint64_t total) const {
    if (request_.progress) request_.progress(what, done, total);
  }

  // Chooses among `plugins` and the default codegen by the costs as they are now. Returns false
  // when an earlier plan has the same choice, else puts it into plans_ and placements_.
  Result<bool> solve_with(const std::vector<std::string>& plugins, std::string name) {
    BYOC_TRY(std::vector<Symbol> functions, placed_functions(placed_));
    Plan plan = empty_plan(placed_, context_.compilers, costs_, context_);
    plan.origin = std::move(name);
    placements_.clear();
    for (Symbol function : functions) {
      BYOC_TRY(FunctionPlacement placement,
               place_function(placed_, function, plugins, costs_, context_));
      add_choices(placed_, placement, plan);
      placements_.push_back(std::move(placement));
    }
    out_.certificate = certificate_of(placements_);
    if (!seen_.insert(to_json(plan)["functions"].dump()).second) return false;
    plans_.push_back(std::move(plan));
    certificates_.push_back(out_.certificate);
    return true;
  }

  // Times the program of the last plan, and corrects the costs of its candidates. Returns false
  // when it does not run.
  Result<bool> correct(const IRModule& given, const std::string& folder) {
    const Entrant entrant = plan_entrant(plans_.size(), folder);
    BYOC_TRY_STATUS(write_plan(plans_.back(), entrant.plan_path));
    ContestPlan quick = request_.contest;
    quick.rounds = 1, quick.min_time_s = std::min(quick.min_time_s, 0.5);
    BYOC_TRY(std::vector<EntrantResult> result, run_contest(given, build_, {entrant}, quick));
    quick_ns_.push_back(result[0].ns);
    quick_steps_ = result[0].step_ns;
    if (result[0].error.empty()) {
      BYOC_TRY_STATUS(correct_one(result[0].step_ns));
    } else {
      out_.remarks.push_back(cat(entrant.name, ": ", result[0].error));
    }
    return result[0].error.empty();
  }

  // Corrects the costs of borders in the first rounds, later the costs of candidates.
  Status correct_one(const std::map<std::string, double>& step_ns) {
    if (out_.rounds > 0 && out_.rounds <= kBorderRounds &&
        correct_borders(placements_, step_ns, costs_))
      return {};
    return correct_costs(placed_, placements_, step_ns, context_, costs_);
  }

  // Corrects the costs of each plugin by a program in which it runs all that it takes and the
  // default codegen the rest, so that all plugins' costs are those in whole programs.
  Status correct_each_plugin(const IRModule& given, const std::string& folder) {
    std::vector<std::vector<std::string>> lists;
    if (!context_.defaults.empty()) lists.emplace_back();
    for (const std::string& id : context_.compilers) lists.push_back({id});
    for (size_t k = 0; k < lists.size(); ++k) {
      show("correcting the costs of each plugin", k, lists.size());
      const std::string name = lists[k].empty() ? context_.defaults[0] : lists[k][0];
      costs_.avoids_rest = !lists[k].empty();
      Result<bool> is_new = solve_with(lists[k], cat("by cost, ", name));
      costs_.avoids_rest = false;
      if (!is_new.ok() && is_new.status().slug() == "placement-rule") continue;
      BYOC_TRY_STATUS(is_new.status());
      if (!*is_new) continue;
      BYOC_TRY(bool runs, correct(given, folder));
      if (runs) alone_.push_back({lists[k], plans_.back(), quick_steps_});
    }
    return {};
  }

  // Solves, times the program, corrects the costs, until the choice is an earlier one.
  Status solve_rounds(const IRModule& given, const std::string& folder) {
    if (!request_.measures) {
      BYOC_TRY_STATUS(solve_with(context_.compilers, "by cost").status());
      return bound_gain();
    }
    BYOC_TRY_STATUS(correct_each_plugin(given, folder));
    BYOC_TRY_STATUS(correct_by_programs(placed_, alone_, context_, costs_));
    const uint32_t rounds = std::max(request_.rounds, 1u);
    for (uint32_t round = 0; round < rounds; ++round) {
      ++out_.rounds;
      show("correcting the costs", round, rounds);
      BYOC_TRY(bool is_new, solve_with(context_.compilers, cat("by cost, round ", round + 1)));
      if (!is_new) break;
      BYOC_TRY(bool runs, correct(given, folder));
      if (!runs) break;
    }
    return {};
  }

  static Certificate certificate_of(const std::vector<FunctionPlacement>& placements) {
    Certificate out;
    for (const FunctionPlacement& placement : placements) {
      out.ops += placement.node_of_state.size();
      out.heuristic_steps += placement.solution.heuristic_steps;
      out.predicted_ns += to_ns(placement.solution.cost);
      out.bound_ns += to_ns(placement.solution.bound);
    }
    return out;
  }

  // Sets out_.free_borders. The costs must come from programs of one plugin each: programs
  // of several put borders into the costs of ops.
  Status bound_gain() {
    BYOC_TRY(std::vector<Symbol> functions, placed_functions(placed_));
    std::vector<FunctionPlacement> placements;
    for (Symbol function : functions) {
      BYOC_TRY(FunctionPlacement placement,
               place_function(placed_, function, context_.compilers, costs_, context_));
      placements.push_back(std::move(placement));
    }
    out_.free_borders = free_borders(placements);
    return {};
  }

  // Keeps the plan that an earlier search left, when it is for this graph, machine and plugins.
  void read_earlier_plan() {
    const Plan now = empty_plan(placed_, context_.compilers, costs_, context_);
    Result<Plan> earlier = read_plan(plan_path(request_.folder, now));
    // An order of plugins is an entrant of every contest.
    if (!earlier.ok() || earlier->order || !check_plan(*earlier, now).ok()) return;
    earlier_ = *std::move(earlier);
  }

  // Adds the earlier plan to the plans unless one of them makes the same choices.
  void add_earlier_plan() {
    if (!earlier_) return;
    const Json choices = to_json(*earlier_)["functions"];
    for (const Plan& plan : plans_) {
      if (to_json(plan)["functions"] == choices) return;
    }
    earlier_->origin = kEarlier;
    plans_.push_back(*earlier_);
  }

  // Returns the entrant of plans_[number - 1].
  Entrant plan_entrant(size_t number, const std::string& folder) const {
    std::vector<std::string> compilers = named_;
    compilers.insert(compilers.begin(), "auto");
    return {plans_[number - 1].origin, compilers, cat(folder, "/", number, ".json"),
            Entrant::kPlan};
  }

  // Drops plans that lost by much already when they were timed to correct costs.
  void drop_slow_plans() {
    double best = INFINITY;
    for (double ns : quick_ns_) best = ns > 0 ? std::min(best, ns) : best;
    size_t kept = 0;
    for (size_t k = 0; k < plans_.size(); ++k) {
      if (k < quick_ns_.size() && quick_ns_[k] > kHopeless * best) continue;
      std::swap(plans_[kept], plans_[k]);
      std::swap(certificates_[kept++], certificates_[k]);
    }
    plans_.resize(kept);
    certificates_.resize(kept);
  }

  // Enters each plugin by itself, the order of priority, and all plans.
  void enter_all(const std::string& folder) {
    const std::string& rest = context_.defaults.empty() ? std::string() : context_.defaults[0];
    auto enter = [&](std::string name, std::vector<std::string> order, Entrant::Kind kind) {
      orders_.push_back(order);
      if (!rest.empty()) order.push_back(rest);
      out_.entrants.push_back({std::move(name), std::move(order), "", kind});
    };
    if (!rest.empty()) enter(cat(rest, " alone"), {}, Entrant::kSingle);
    for (const std::string& id : context_.compilers)
      enter(cat(id, rest.empty() ? "" : cat(", then ", rest)), {id}, Entrant::kSingle);
    if (context_.compilers.size() > 1)
      enter("all by priority", context_.compilers, Entrant::kOrder);
    for (size_t k = 1; k <= plans_.size(); ++k) out_.entrants.push_back(plan_entrant(k, folder));
  }

  // Times the entrants that are close to the fastest once more, and for longer.
  Status time_close_ones(const IRModule& given) {
    std::vector<Entrant> close;
    std::vector<size_t> index;
    for (size_t k = 0; k < out_.results.size(); ++k) {
      const EntrantResult& result = out_.results[k];
      if (!result.error.empty() || result.ns > kClose * out_.results[out_.best].ns) continue;
      close.push_back(out_.entrants[k]);
      index.push_back(k);
    }
    if (close.size() < 2) return {};
    ContestPlan longer = request_.contest;
    longer.min_time_s *= 2, longer.rounds *= 3;
    BYOC_TRY(std::vector<EntrantResult> results, run_contest(given, build_, close, longer));
    for (size_t k = 0; k < close.size(); ++k) out_.results[index[k]] = std::move(results[k]);
    return {};
  }

  static bool has_steps_of(const EntrantResult& result, const AloneProgram& program) {
    return result.error.empty() && result.step_ns.size() == program.step_ns.size() &&
           std::equal(program.step_ns.begin(), program.step_ns.end(), result.step_ns.begin(),
                      [](const auto& a, const auto& b) { return a.first == b.first; });
  }

  // Solves once more, by the times of each single plugin in the contest: there programs took turns,
  // so that they compare better than those that rounds timed one after another.
  Status solve_after_contest(const IRModule& given, const std::string& folder) {
    for (AloneProgram& program : alone_) {
      const Json choices = to_json(program.plan)["functions"];
      for (size_t k = 0; k < plans_.size(); ++k) {
        const EntrantResult& result = out_.results[orders_.size() + k];
        if (result.error.empty() && to_json(plans_[k])["functions"] == choices)
          program.step_ns = result.step_ns;
      }
      // The program of the default codegen is always an entrant, even where its plan was left out.
      if (program.plugins.empty() && has_steps_of(out_.results[0], program))
        program.step_ns = out_.results[0].step_ns;
    }
    BYOC_TRY_STATUS(correct_by_programs(placed_, alone_, context_, costs_));
    BYOC_TRY_STATUS(bound_gain());
    certificates_.resize(plans_.size());
    BYOC_TRY(bool is_new, solve_with(context_.compilers, "by cost, after the contest"));
    if (!is_new) return {};
    const Entrant& best = out_.entrants[out_.best];
    const Entrant entrant = plan_entrant(plans_.size(), folder);
    BYOC_TRY_STATUS(write_plan(plans_.back(), entrant.plan_path));
    BYOC_TRY(std::vector<EntrantResult> results,
             run_contest(given, build_, {best, entrant}, request_.contest));
    if (results[0].ns > 0) results[1].ns *= out_.results[out_.best].ns / results[0].ns;
    results[1].block_ns.clear();  // they do not compare with those of the first contest
    out_.entrants.push_back(entrant);
    out_.results.push_back(std::move(results[1]));
    out_.best = winner_of(out_.entrants, out_.results);
    return {};
  }

  // Returns the choice of an entrant, as choices or as an order of priority.
  Plan plan_of(size_t entrant) const {
    if (entrant >= orders_.size()) return plans_[entrant - orders_.size()];
    Plan plan = empty_plan(placed_, context_.compilers, costs_, context_);
    plan.order = orders_[entrant];
    plan.origin = out_.entrants[entrant].name;
    return plan;
  }

  // Enters what becomes of the fastest entrant when ops of a kind move to other plugins.
  Status improve_best(const IRModule& given, const std::string& folder) {
    if (!(request_.improve_s > 0)) return {};
    BYOC_TRY(Improvement better,
             improve_plan(plan_of(out_.best),
                          {given, placed_, build_, costs_, context_, folder, request_.contest,
                           request_.improve_s, [this](uint64_t done, uint64_t total) {
                             show("moving ops between plugins", done, total);
                           }}));
    out_.moves_tried = better.tried, out_.moves_kept = better.kept;
    if (better.kept == 0) return {};
    better.plan.origin = cat(better.plan.origin, ", moved");
    plans_.push_back(std::move(better.plan));
    out_.entrants.push_back(plan_entrant(plans_.size(), folder));
    BYOC_TRY_STATUS(write_plan(plans_.back(), out_.entrants.back().plan_path));
    out_.results.push_back({out_.results[out_.best].ns * better.ratio});
    return {};
  }

  Status hold_contest(const IRModule& given, const std::string& folder) {
    drop_slow_plans();
    add_earlier_plan();
    enter_all(folder);
    for (size_t k = 0; k < plans_.size(); ++k)
      BYOC_TRY_STATUS(write_plan(plans_[k], plan_entrant(k + 1, folder).plan_path));
    show("timing whole programs", 0, 1);
    BYOC_TRY(out_.results, run_contest(given, build_, out_.entrants, request_.contest));
    out_.best = winner_of(out_.entrants, out_.results);
    if (out_.best == SIZE_MAX)
      return failed(cat("no choice of plugins runs: ", out_.results[0].error)).with_slug("place");
    BYOC_TRY_STATUS(solve_after_contest(given, folder));
    BYOC_TRY_STATUS(improve_best(given, folder));
    BYOC_TRY_STATUS(time_close_ones(given));
    out_.best = winner_of(out_.entrants, out_.results);
    out_.plan = plan_of(out_.best);
    if (const size_t plan = out_.best - orders_.size();
        out_.best >= orders_.size() && plan < certificates_.size() && certificates_[plan])
      out_.certificate = *certificates_[plan];
    out_.plan.measured_ns = out_.results[out_.best].ns;
    return {};
  }

  const PlaceRequest& request_;
  BuildOptions build_;
  std::vector<std::string> named_;
  PassContext context_;
  IRModule placed_;
  Costs costs_;
  std::vector<Plan> plans_;
  std::vector<FunctionPlacement> placements_;             // of the last choice by cost
  std::vector<double> quick_ns_;                          // of plans_, from correct(); 0: failed
  std::set<std::string> seen_;                            // choices by cost
  std::vector<std::optional<Certificate>> certificates_;  // of the choices by cost among plans_
  std::vector<AloneProgram> alone_;
  std::map<std::string, double> quick_steps_;     // of the program that was timed last
  std::vector<std::vector<std::string>> orders_;  // of the entrants without a plan
  std::optional<Plan> earlier_;
  PlaceOutcome out_;
};

}  // namespace

Result<PlaceOutcome> place_model(IRModule module, const PlaceRequest& request) {
  return Search(request).run(std::move(module));
}

}  // namespace byoc::driver
