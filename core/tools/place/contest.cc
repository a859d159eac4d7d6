// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/contest.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "core/measure/session/timed_session.h"
#include "core/process/child.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/execute.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/rounding/value_steps.h"
#include "core/tools/verify/output_limits.h"
#include "core/tools/verify/verification.h"
#include "runtime/cli/values.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kSeed = 0;
constexpr double kHysteresis = 0.995;  // an entrant must be that much faster
constexpr double kClearGain = 0.99;    // likewise, one of several plugins than a plugin alone

class Contest {
 public:
  Contest(const IRModule& module, const BuildOptions& build, const std::vector<Entrant>& entrants,
          const ContestPlan& plan)
      : module_(module), build_(build), entrants_(entrants), plan_(plan) {
    results_.resize(entrants.size());
  }

  Json run() {
    process::doing("running the reference");
    Result<std::vector<Limit>> limits = find_limits();
    if (limits.ok()) limits_ = *std::move(limits);
    std::vector<std::unique_ptr<measure::TimedSession>> timed(entrants_.size());
    std::vector<measure::TimedSession*> running;
    for (size_t k = 0; k < entrants_.size(); ++k) {
      process::progress_to(k + 1, k, entrants_.size());
      process::doing(cat("compiling ", entrants_[k].name));
      Result<std::unique_ptr<measure::TimedSession>> one = prepare(entrants_[k]);
      if (!one.ok()) {
        results_[k].error = one.status().message();
        continue;
      }
      const measure::TimedSession* first = running.empty() ? nullptr : running[0];
      results_[k].error = first != nullptr ? difference(**one, *first) : "";
      if (!results_[k].error.empty()) continue;
      timed[k] = *std::move(one);
      running.push_back(timed[k].get());
    }
    process::progress_to(0, entrants_.size(), entrants_.size());
    const measure::TimingPlan timing{.warmup_s = plan_.min_time_s / 10,
                                     .min_time_s = plan_.min_time_s,
                                     .rounds = plan_.rounds,
                                     .counts_thread_time = build_.threads == 1,
                                     .times_steps = plan_.times_steps};
    Status measured =
        measure::time_in_turns(running, timing, [](std::string_view, uint64_t, uint64_t) {
          process::doing("timing whole programs");
          return true;
        });
    for (size_t k = 0; k < entrants_.size(); ++k) {
      if (!timed[k]) continue;
      if (measured.ok()) take_times(*timed[k], results_[k]);
      else results_[k].error = measured.message();
    }
    return to_json();
  }

 private:
  Result<std::unique_ptr<measure::TimedSession>> prepare(const Entrant& entrant) {
    BuildOptions options = build_;
    options.compilers = entrant.compilers;
    options.report = nullptr;
    options.history_report = nullptr;
    Cancellation alive;  // a plugin that reports progress does not hang
    alive.set_progress(
        [&](uint32_t, std::string_view) { process::doing(cat("compiling ", entrant.name)); });
    options.cancel = &alive;
    options.options["plan"] = entrant.plan_path.empty() ? "none" : entrant.plan_path;
    BYOC_TRY(Executable executable, build(module_, options));
    BYOC_TRY(auto inputs,
             cli::make_inputs(executable.program.given(), plan_.inputs, kSeed, tensor_readers()));
    BYOC_TRY(auto session,
             Session::load(std::move(executable), build_.plugins, {.threads = build_.threads}));
    std::vector<Tensor> tensors;
    for (cli::NamedInput& input : inputs) tensors.push_back(std::move(input.tensor));
    return measure::TimedSession::make(std::move(session), tensors);
  }

  // Returns the limits of `byoc verify` for a model that rounds. Without a reference, and for other
  // models, there are none.
  Result<std::vector<Limit>> find_limits() const {
    std::vector<Limit> out;
    if (!rounds(module_)) return out;
    BYOC_TRY(std::string reference, reference_plugin(*build_.plugins));
    BYOC_TRY(const auto types, given_inputs(module_));
    BYOC_TRY(auto made, cli::make_inputs(types, plan_.inputs, kSeed, tensor_readers()));
    std::vector<Tensor> inputs;
    for (cli::NamedInput& input : made) inputs.push_back(std::move(input.tensor));
    BYOC_TRY(RightOutputs right, right_outputs(module_, build_, {reference, inputs}));
    return std::move(right.limits);
  }

  // Returns "" when all outputs are close to those of the other session.
  std::string difference(const measure::TimedSession& one,
                         const measure::TimedSession& right) const {
    for (size_t k = 0; k < right.outputs().size(); ++k) {
      const ComparedValue value =
          compare_value(right.session().outputs()[k].name, one.outputs()[k], right.outputs()[k],
                        k < limits_.size() ? limits_[k] : Limit());
      if (!value.difference.is_equal)
        return cat("output ", value.name, " differs: ", value_text(value));
    }
    return "";
  }

  static void take_times(const measure::TimedSession& timed, EntrantResult& result) {
    result.ns = measure::time_of(timed.samples.ns);
    result.block_ns = measure::block_times(timed.samples);
    const Program& program = timed.session().program();
    for (size_t s = 0; s < timed.steps.size(); ++s) {
      if (program.steps[s].module == Step::kDeviceCopy) continue;  // no op pays for it
      result.step_ns[program.steps[s].symbol] += measure::time_of(timed.steps[s].ns);
    }
  }

  Json to_json() const {
    Json out = Json::array();
    for (const EntrantResult& result : results_) {
      out.push_back({{"ns", result.ns},
                     {"error", result.error},
                     {"steps", result.step_ns},
                     {"blocks", result.block_ns}});
    }
    return out;
  }

  const IRModule& module_;
  const BuildOptions& build_;
  const std::vector<Entrant>& entrants_;
  const ContestPlan& plan_;
  std::vector<Limit> limits_;  // of the outputs
  std::vector<EntrantResult> results_;
};

// Returns whether one takes less than `share` of the least time of the other, and by the whole
// interval of their turns less than `limit` of it.
bool is_within(double share, double limit, const EntrantResult& one, const EntrantResult& than) {
  if (!(one.ns < share * than.ns)) return false;
  const size_t blocks = one.block_ns.size();
  return blocks < 2 || blocks != than.block_ns.size() ||
         measure::ratio_of(than.block_ns, one.block_ns).high < limit;
}

}  // namespace

std::string_view kind_name(Entrant::Kind kind) {
  return kind == Entrant::kSingle ? "single" : kind == Entrant::kOrder ? "order" : "plan";
}

bool is_faster(const EntrantResult& one, const EntrantResult& than) {
  return is_within(kHysteresis, 1, one, than);
}

size_t winner_of(const std::vector<Entrant>& entrants, const std::vector<EntrantResult>& results) {
  auto fastest = [&](bool is_single) {
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < results.size(); ++k) {
      if ((entrants[k].kind == Entrant::kSingle) != is_single || !results[k].error.empty())
        continue;
      if (best != SIZE_MAX && !is_faster(results[k], results[best])) continue;
      best = k;
      k = SIZE_MAX;  // from the begin: the noise beside another entrant may be less
    }
    return best;
  };
  const size_t single = fastest(true), other = fastest(false);
  if (single == SIZE_MAX || other == SIZE_MAX) return std::min(single, other);
  return is_within(kClearGain, kClearGain, results[other], results[single]) ? other : single;
}

namespace {

/// Runs a contest of the entrants that no child has failed with. A child that crashes or hangs
/// while it compiles fails the entrant that it compiles, and the others begin anew.
class Contests {
 public:
  Contests(const IRModule& module, const BuildOptions& build, const std::vector<Entrant>& entrants,
           const ContestPlan& plan)
      : module_(module), build_(build), plan_(plan), out_(entrants.size()) {
    for (size_t k = 0; k < entrants.size(); ++k) left_.push_back({k, entrants[k]});
  }

  Result<std::vector<EntrantResult>> run() {
    while (!left_.empty()) {
      const process::ChildResult child = run_child(left_, plan_);
      if (child.finished) {
        BYOC_TRY_STATUS(take_results(child.result));
        break;
      }
      if (child.end.kind == process::End::kInterrupted)
        return failed(cat("timing whole programs: ", child.defect)).with_slug("place");
      if (child.item > 0) drop(child.item - 1, child.defect);
      else BYOC_TRY_STATUS(drop_those_that_fail_alone(child.defect));
    }
    return std::move(out_);
  }

 private:
  struct Left {
    size_t index;
    Entrant entrant;
  };

  process::ChildResult run_child(const std::vector<Left>& entrants, const ContestPlan& plan) const {
    std::vector<Entrant> list;
    for (const Left& one : entrants) list.push_back(one.entrant);
    process::ChildLimits limits;
    limits.timeout_s = plan.timeout_s;
    return process::run_in_child(limits,
                                 [&] { return Contest(module_, build_, list, plan).run().dump(); });
  }

  Status take_results(const std::string& text) {
    BYOC_TRY(Json json, parse_json(text));
    for (size_t k = 0; k < left_.size() && k < json.size(); ++k) {
      const Json& row = json[k];
      out_[left_[k].index] = {row.at("ns"), row.at("error"), row.at("steps"), row.at("blocks")};
    }
    return {};
  }

  void drop(size_t k, const std::string& error) {
    out_[left_[k].index].error = error;
    left_.erase(left_.begin() + static_cast<ptrdiff_t>(k));
  }

  /// A child ended while programs took turns: finds out which of them end a child of their own.
  Status drop_those_that_fail_alone(const std::string& defect) {
    ContestPlan quick = plan_;
    quick.rounds = 1, quick.min_time_s = 0;
    bool has_dropped = false;
    for (size_t k = left_.size(); k-- > 0;) {
      const process::ChildResult child = run_child({left_[k]}, quick);
      if (child.finished && left_.size() > 1) continue;
      drop(k, child.finished ? defect : child.defect);
      has_dropped = true;
    }
    if (has_dropped) return {};
    return failed(cat("timing whole programs: ", defect)).with_slug("place");
  }

  const IRModule& module_;
  const BuildOptions& build_;
  const ContestPlan& plan_;
  std::vector<Left> left_;
  std::vector<EntrantResult> out_;
};

}  // namespace

Result<std::vector<EntrantResult>> run_contest(const IRModule& module, const BuildOptions& build,
                                               const std::vector<Entrant>& entrants,
                                               const ContestPlan& plan) {
  return Contests(module, build, entrants, plan).run();
}

}  // namespace byoc::driver
