// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/sitting_report.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/base/json.h"
#include "runtime/cli/output.h"

namespace byoc::tune {
namespace {

bool is_timed(const TaskReport& task) {
  return std::isfinite(task.untuned_ns) && std::isfinite(task.best_ns);
}

std::string time_text(double ns) { return std::isfinite(ns) ? cli::format_time(ns) : "-"; }

std::string ratio_text(double untuned_ns, double best_ns) {
  return cat(cli::format_fixed(untuned_ns / best_ns, 2), "x");
}

std::string ratio_text(const TaskReport& task) {
  return is_timed(task) ? ratio_text(task.untuned_ns, task.best_ns) : "-";
}

/// Returns a user's name of the task: a node of the model, else the function.
std::string name_of(const Task& task) {
  constexpr size_t kLongest = 40;
  BYOC_CHECK(!task.locs.empty() || !task.symbols.empty(), "a task has a function");
  std::string name = task.locs.empty() ? task.symbols[0] : task.locs[0];
  if (name.size() > kLongest) name.replace(kLongest - 3, name.npos, "...");
  const size_t others = std::max(task.locs.size(), size_t{1}) - 1;
  return others == 0 ? name : cat(name, " +", others);
}

/// The time of all calls of the tasks that have both times, in ns per run of the model.
struct Sums {
  double untuned_ns = 0, best_ns = 0;
};

Sums sums_of(const std::vector<Task>& tasks, const SittingReport& report) {
  BYOC_CHECK(report.tasks.size() == tasks.size(), tasks.size(), " tasks have ", report.tasks.size(),
             " reports");
  Sums out;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (!is_timed(report.tasks[k])) continue;
    out.untuned_ns += static_cast<double>(tasks[k].count) * report.tasks[k].untuned_ns;
    out.best_ns += static_cast<double>(tasks[k].count) * report.tasks[k].best_ns;
  }
  return out;
}

double trials_per_second(const SittingReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.measured) / report.seconds : 0;
}

std::string end_text(const SittingReport& report) {
  std::string out = cat(report.measured, " trials in ", cli::format_fixed(report.seconds, 1),
                        " s, ", cli::format_fixed(trials_per_second(report), 1), " per second");
  if (report.repeated != 0)
    out += cat("; ", report.repeated, " measured again, as the machine's speed had changed");
  if (report.measured == 0 && report.total == 0)
    out += "; the log has as many trials already, --trials N adds some";
  if (report.end == SittingEnd::kBudget) out += "; the time of --budget is over";
  return out + "\n";
}

Json to_json(double ns) { return std::isfinite(ns) ? Json(ns) : Json(); }

constexpr const char* kEnds[] = {"done", "budget", "interrupted"};

}  // namespace

std::string progress_text(const std::vector<Task>& tasks, const SittingReport& report) {
  if (report.measured == 0) return cat("computing right outputs, ", tasks.size(), " tasks");
  BYOC_CHECK(report.current < tasks.size() && report.tasks.size() == tasks.size(), "task ",
             report.current, " of ", tasks.size());
  const TaskReport& task = report.tasks[report.current];
  std::string out = cat(tasks[report.current].space.kind, " ", name_of(tasks[report.current]), " ",
                        time_text(task.best_ns), " (", ratio_text(task), ")  ", report.measured,
                        "/", report.total, " trials, ",
                        cli::format_fixed(trials_per_second(report), 1), " per second");
  return report.state.empty() ? out : cat(out, ", ", report.state);
}

Share share_done(const SittingReport& report, const SittingOptions& options) {
  const Share trials{report.measured, std::max<uint64_t>(report.total, 1)};
  if (!std::isfinite(options.budget_s)) return trials;
  const auto ms = [](double seconds) { return static_cast<uint64_t>(seconds * 1000); };
  const Share time{ms(std::min(report.seconds, options.budget_s)), ms(options.budget_s) + 1};
  const auto part = [](const Share& s) {
    return static_cast<double>(s.done) / static_cast<double>(s.total);
  };
  return part(time) > part(trials) ? time : trials;
}

std::string report_text(const std::vector<Task>& tasks, const SittingReport& report,
                        const SittingOptions& options) {
  BYOC_CHECK(report.tasks.size() == tasks.size(), tasks.size(), " tasks have ", report.tasks.size(),
             " reports");
  cli::Table table({"task", "kind", ">count", ">untuned", ">best", ">ratio", ">trials", ">errors"});
  for (size_t k = 0; k < tasks.size(); ++k) {
    const TaskReport& task = report.tasks[k];
    table.add({name_of(tasks[k]), tasks[k].space.kind, cat(tasks[k].count),
               time_text(task.untuned_ns), time_text(task.best_ns), ratio_text(task),
               cat(task.trials), cat(task.errors)});
  }
  const Sums sums = sums_of(tasks, report);
  std::string text = table.text();
  for (const StartsUse& use : report.starts) text += cat(use.log, ": ", use.summary, "\n");
  text += measure::text_of(report.observations) + end_text(report);
  if (sums.best_ns > 0) {
    text += cat("tasks of one run: ", cli::format_time(sums.untuned_ns), " before, ",
                cli::format_time(sums.best_ns), " after, ",
                ratio_text(sums.untuned_ns, sums.best_ns), "\n");
  }
  return cat(text, "use it: byoc compile|run|bench|verify MODEL --tuning-log ", options.log, "\n");
}

nlohmann::ordered_json report_json(const std::vector<Task>& tasks, const SittingReport& report,
                                   const SittingOptions& options) {
  BYOC_CHECK(report.tasks.size() == tasks.size(), tasks.size(), " tasks have ", report.tasks.size(),
             " reports");
  const auto end = static_cast<size_t>(report.end);
  BYOC_CHECK(end < std::size(kEnds), "end ", end, " of ", std::size(kEnds));
  Json list = Json::array();
  for (size_t k = 0; k < tasks.size(); ++k) {
    const TaskReport& task = report.tasks[k];
    list.push_back({{"key", tasks[k].key.hex()},
                    {"plugin", tasks[k].plugin},
                    {"kind", tasks[k].space.kind},
                    {"symbols", tasks[k].symbols},
                    {"nodes", tasks[k].locs},
                    {"count", tasks[k].count},
                    {"untuned_ns", to_json(task.untuned_ns)},
                    {"best_ns", to_json(task.best_ns)},
                    {"best", task.best},
                    {"trials", task.trials},
                    {"measured", task.measured},
                    {"errors", task.errors},
                    {"defect", task.defect}});
  }
  const Sums sums = sums_of(tasks, report);
  Json starts = Json::array();
  for (const StartsUse& use : report.starts) {
    starts.push_back({{"log", use.log},
                      {"format", use.format},
                      {"lines", use.lines},
                      {"used", use.used},
                      {"starts", use.starts},
                      {"skipped", Json(use.skipped)},
                      {"choices_used", Json(use.choices_used)},
                      {"choices_unfit", Json(use.choices_unfit)}});
  }
  return {{"log", options.log},          {"end", kEnds[end]},
          {"seconds", report.seconds},   {"measured", report.measured},
          {"repeated", report.repeated}, {"untuned_ns", sums.untuned_ns},
          {"best_ns", sums.best_ns},     {"starts", starts},
          {"autotvm", starts},           {"observations", measure::json_of(report.observations)},
          {"remarks", report.remarks},   {"tasks", list}};
}

}  // namespace byoc::tune
