// SPDX-License-Identifier: Apache-2.0
#include "core/tools/probe/batch.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "core/measure/session/timed_session.h"
#include "core/process/child.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/probe/join.h"
#include "core/tools/probe/time_step.h"
#include "core/tools/rounding/limits.h"
#include "core/tools/verify/verification.h"

namespace byoc::driver {
namespace {

constexpr double kMostReferenceFlops = 3e7;  // that the reference computes per probe
constexpr double kMostReorder = 0.95;        // of a step

using Probes = std::span<const Probe>;

class Batch {
 public:
  Batch(Probes probes, const BuildOptions& build, const ProbePlan& plan)
      : probes_(probes), build_(build), plan_(plan) {}

  Result<Json> run() {
    const std::string what =
        cat("compiling and running ", probes_.size(), " ops by ", probes_[0].plugin);
    process::doing(what);
    alive_.set_progress([what](uint32_t, std::string_view) { process::doing(what); });
    std::vector<size_t> first_output;
    const bool is_rest = probes_[0].is_rest;
    IRModule module = is_rest ? side_by_side(probes_, first_output)
                              : joined(probes_, probes_[0].plugin, first_output);
    BYOC_TRY(Executable executable, is_rest ? compile_rest(module) : compile(module));
    for (const Step& step : executable.program.steps) {
      if (!step.is_compiled()) continue;  // a copy to or from a device
      const std::string& plugin = executable.modules[step.module].plugin;
      if (plugin != probes_[0].plugin && probes_.size() > 1) return failed("declined");
      if (plugin != probes_[0].plugin)
        return unimplemented(cat("compile declined it: ", declined_)).with_slug("declined");
    }
    BYOC_TRY(std::vector<Tensor> inputs, values_for(executable.program.inputs));
    BYOC_TRY(auto session, Session::load(executable, build_.plugins, {.threads = build_.threads}));
    BYOC_TRY(auto once, measure::TimedSession::make(std::move(session), inputs));
    BYOC_TRY_STATUS(time_steps(executable, what));
    // The reference runs last: memory that it has filled with NaN would cost the others time.
    const std::vector<std::string> faults = check(first_output, inputs, once->outputs());
    Json out = Json::array();
    for (size_t k = 0; k < probes_.size(); ++k) out.push_back(json_of(times_[k], faults[k]));
    return out;
  }

 private:
  struct StepFacts {
    size_t probe = SIZE_MAX;
    double flops = 0;
  };
  /// The steps of a probe. Steps without arithmetic beside one that has some change layouts: in a
  /// network these are paid at borders, if at all.
  struct Times {
    double work_ns = 0, moves_ns = 0, reorder_ns = 0;
    size_t steps = 0;
    std::vector<double> samples_ns;  // of the last step
  };

  static Json json_of(const Times& times, const std::string& fault) {
    return {{"ns", times.work_ns > 0 ? times.work_ns : times.moves_ns},
            {"reorder_ns", times.reorder_ns},
            {"error", fault},
            {"samples_ns", times.steps == 1 ? times.samples_ns : std::vector<double>()}};
  }

  // Times each step alone, as the tuner times a point.
  Status time_steps(const Executable& executable, const std::string& what) {
    times_.assign(probes_.size(), {});
    const std::vector<StepFacts> facts = facts_of(executable);
    for (size_t s = 0; s < facts.size(); ++s) {
      if (facts[s].probe >= probes_.size()) continue;
      process::doing(what);
      BYOC_TRY(StepTime time,
               time_step(executable, s, build_, plan_.min_time_s, [&] { process::doing(what); }));
      Times& to = times_[facts[s].probe];
      // A kernel's own clock may run ahead of the step's on a busy machine.
      const double reorder = std::min(time.reorder_ns, kMostReorder * time.ns());
      to.reorder_ns += reorder;
      (facts[s].flops > 0 ? to.work_ns : to.moves_ns) += time.ns() - reorder;
      to.samples_ns = std::move(time.samples_ns);
      ++to.steps;
    }
    return {};
  }

  // Finds the probe of each step by its symbol or by its locs.
  static std::vector<StepFacts> facts_of(const Executable& executable) {
    std::vector<StepFacts> out;
    for (const Step& step : executable.program.steps) {
      StepFacts facts;
      if (!step.is_compiled()) {  // a copy, which borders pay for
        out.push_back(facts);
        continue;
      }
      const ExternalFunction& function = executable.modules[step.module].functions[step.function];
      std::vector<std::string> names = step.locs.empty() ? function.locs : step.locs;
      names.insert(names.begin(), step.symbol);
      facts.flops = function.flops;
      for (const std::string& name : names) {
        if (facts.probe == SIZE_MAX && name.starts_with(kProbePrefix))
          facts.probe = std::stoul(name.substr(kProbePrefix.size()));
      }
      out.push_back(facts);
    }
    return out;
  }

  Result<Executable> compile_rest(const IRModule& module) const {
    BuildOptions options = options_of_probes(build_, probes_[0]);
    options.cancel = &alive_;
    return build(module, options);
  }

  Result<Executable> compile(const IRModule& module) {
    Report report;
    BuildOptions options = options_of_probes(build_, probes_[0]);
    options.report = &report;
    options.cancel = &alive_;
    BYOC_TRY(PassContext context, make_context(module, options));
    Result<Executable> out = compile_regions(module, context);
    for (const Report::Remark& remark : report.remarks) {
      if (remark.kind == Report::Remark::kDeclined) declined_ = remark.reason;
    }
    return out;
  }

  // Compares with the reference plugin, which computes the quick probes only. Returns a fault per
  // probe, or nothing when there is no reference.
  std::vector<std::string> check(const std::vector<size_t>& first_output,
                                 const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs) {
    std::vector<std::string> faults(probes_.size());
    Result<std::string> reference = reference_plugin(*build_.plugins);
    if (!plan_.check || !reference.ok() || *reference == probes_[0].plugin) return faults;
    size_t input = 0;
    for (size_t k = 0; k < probes_.size(); ++k) {
      const size_t begin = input;
      input += probes_[k].body.num_params();
      if (probes_[k].work.flops > kMostReferenceFlops) continue;
      std::vector<size_t> all;
      const IRModule alone = joined(probes_.subspan(k, 1), *reference, all);
      Result<Executable> right = compile(alone);
      if (!right.ok()) continue;  // there is nothing to compare with
      Result<std::vector<Tensor>> expected =
          execute(*std::move(right), build_.plugins, 1,
                  std::span(inputs).subspan(begin, probes_[k].body.num_params()));
      const std::vector<Limit> limits = limits_of(alone, probes_[k].body);
      for (size_t r = 0; expected.ok() && r < expected->size(); ++r) {
        const ComparedValue value =
            compare_value("result", outputs[first_output[k] + r], (*expected)[r], limits[r]);
        if (!value.difference.is_equal)
          faults[k] = cat("differs from ", *reference, ": ", value_text(value));
      }
    }
    return faults;
  }

  // Returns the limits of a probe's results, whose operands are the same for both plugins.
  static std::vector<Limit> limits_of(const IRModule& module, const Function& body) {
    std::vector<Limit> out;
    for (const ValueSteps& steps : result_steps(module, body)) {
      const auto of_integers = static_cast<double>(allowed_steps(module));
      out.push_back(steps.has_size() ? limit_of(steps, {}, -1, "") : Limit{.steps = of_integers});
    }
    return out;
  }

  Probes probes_;
  const BuildOptions& build_;
  const ProbePlan& plan_;
  std::vector<Times> times_;  // of the probes
  Cancellation alive_;        // a plugin that reports progress does not hang
  std::string declined_;
};

}  // namespace

std::string run_batch(Probes probes, const BuildOptions& build, const ProbePlan& plan) {
  Result<Json> result = Batch(probes, build, plan).run();
  if (result.ok()) return result->dump();
  return Json{{"failed", result.status().message()}}.dump();
}

}  // namespace byoc::driver
