// SPDX-License-Identifier: Apache-2.0
#include "core/library/tuned.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <thread>

#include "byoc/base/json.h"
#include "byoc/tune/history.h"
#include "core/library/request.h"
#include "core/measure/store/this_machine.h"
#include "core/tools/sizes/open_ranges.h"
#include "core/tools/verify/verification.h"
#include "core/tuner/sitting/sitting_report.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

Status check_options(const TuneOptions& with) {
  if (!(with.budget_s >= 0)) return cli::usage_error("--budget expects seconds, 0 or more");
  constexpr double kMostSeconds = 1e6;
  for (double limit : {with.build_limit_s, with.run_limit_s}) {
    if (!(limit > 0 && limit < kMostSeconds))
      return cli::usage_error("--build-limit and --run-limit expect seconds, more than 0");
  }
  return {};
}

/// Returns the tasks of which the kind, a symbol or a node of the model matches the pattern.
Result<std::vector<tune::Task>> chosen(std::vector<tune::Task> tasks, const std::string& pattern) {
  if (pattern.empty()) return tasks;
  std::regex regex;
  try {
    regex.assign(pattern);
  } catch (const std::regex_error& e) {
    return cli::usage_error(cat("--task \"", pattern, "\" is no regular expression: ", e.what()));
  }
  std::vector<tune::Task> out;
  for (tune::Task& task : tasks) {
    auto matches = [&](const std::string& text) { return std::regex_search(text, regex); };
    if (matches(task.space.kind) || std::ranges::any_of(task.symbols, matches) ||
        std::ranges::any_of(task.locs, matches))
      out.push_back(std::move(task));
  }
  if (!out.empty()) return out;
  return not_found(cat("none of the ", tasks.size(), " tasks matches --task \"", pattern, "\""))
      .with_slug("no-task");
}

Result<std::vector<tune::Task>> tasks_of(IRModule module, const ModelOptions& options,
                                         const std::string& pattern,
                                         const BuildOptions& build_with) {
  BYOC_TRY(auto tasks, tune::extract_tasks(std::move(module), build_with));
  if (tasks.empty()) {
    return not_found(
               "no plugin has choices for a function of this model, so there is nothing to "
               "tune")
        .with_slug("no-task")
        .with_help(cat("byoc explain ", options.model,
                       " shows which plugin runs each op; --compiler chooses others"));
  }
  return chosen(std::move(tasks), pattern);
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1e3)));
}

Result<tune::SittingOptions> sitting_of(const ModelOptions& options, const TuneOptions& with,
                                        const TuneExtras& extras, const PluginSet& plugins) {
  tune::SittingOptions out;
  out.log = with.log;
  out.observations = with.observations.empty() ? measure::default_folder() : with.observations;
  if (out.observations == "none") out.observations.clear();
  out.trials_per_task = with.trials;
  if (with.budget_s > 0) out.budget_s = with.budget_s;
  out.seed = with.seed;
  out.starts = with.starts;
  out.slurm = extras.slurm;
  tune::MeasureOptions& measure = out.measure;
  measure.program = with.program;
  measure.plugin_flags = flags_of(options.plugins());
  BYOC_TRY(measure.reference, reference_plugin(plugins));
  const uint32_t cores = std::max(std::thread::hardware_concurrency(), 2u);
  measure.builders = with.jobs != 0 ? with.jobs : cores - 1;
  measure.build_limit = milliseconds(with.build_limit_s);
  measure.run_limit = milliseconds(with.run_limit_s);
  measure.seed = with.seed;
  measure.shows_errors = extras.shows_errors;
  return out;
}

/// Weighs the tasks by the times in an earlier log, when there is one.
Status use_earlier_log(const std::string& log, BuildOptions& build_with) {
  auto history = tune::History::load({&log, 1});
  if (history.ok()) build_with.history = *std::move(history);
  else if (history.status().code() != Code::kNotFound) return history.status();
  return {};
}

TunedTask task_of(const tune::Task& task, const tune::TaskReport& report) {
  return {task.plugin,    task.space.kind, task.symbols, report.untuned_ns,
          report.best_ns, report.trials,   report.defect};
}

}  // namespace

Result<TunedModel> tune_file(const ModelOptions& options, const TuneOptions& with,
                             const TuneExtras& extras, const TuneWatch& watch) {
  BYOC_TRY_STATUS(check_options(with));
  BYOC_TRY(BuildOptions build_with, build_options(options));
  BYOC_TRY_STATUS(use_earlier_log(with.log, build_with));
  TunedModel out;
  BYOC_TRY(RangedModel loaded, load_ranged(options));
  BYOC_TRY(out.tasks, tasks_of(std::move(loaded.module), options, with.tasks, build_with));
  BYOC_TRY(out.sitting, sitting_of(options, with, extras, *build_with.plugins));
  BYOC_TRY(out.report,
           tune::tune(out.tasks, build_with, out.sitting, [&](const tune::SittingReport& report) {
             return !watch || watch(out.tasks, out.sitting, report);
           }));
  if (!loaded.ranges.empty()) out.report.remarks.push_back(ranges_text(loaded.ranges));
  return out;
}

Json json_of(const TunedModel& tuned) {
  return tune::report_json(tuned.tasks, tuned.report, tuned.sitting);
}

}  // namespace driver

Result<ModelTuning> tune_model(const ModelRequest& request, const TuneOptions& options) {
  if (options.log.empty() || options.program.empty())
    return cli::usage_error("tune_model needs a log, and the command byoc as program");
  auto watch = [&request](const std::vector<tune::Task>& tasks, const tune::SittingOptions& sitting,
                          const tune::SittingReport& report) {
    const tune::Share share = tune::share_done(report, sitting);
    if (request.progress)
      request.progress(tune::progress_text(tasks, report), share.done, share.total);
    return request.cancel == nullptr || !request.cancel->is_cancelled();
  };
  BYOC_TRY(driver::TunedModel tuned,
           driver::tune_file(driver::options_of(request), options, {}, watch));
  ModelTuning out;
  for (size_t k = 0; k < tuned.tasks.size(); ++k)
    out.tasks.push_back(driver::task_of(tuned.tasks[k], tuned.report.tasks[k]));
  out.measured = tuned.report.measured;
  out.is_interrupted = tuned.report.end == tune::SittingEnd::kInterrupted;
  out.remarks = tuned.report.remarks;
  out.json = cli::json_text("tune", true, driver::json_of(tuned));
  return out;
}

}  // namespace byoc
