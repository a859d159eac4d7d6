// SPDX-License-Identifier: Apache-2.0
// byoc tune: measures the choices that plugins have for the functions of a model, and appends the
// measurements to a log. With --list and --compact it works on a log alone.
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/tuned.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tuner/sitting/log_report.h"
#include "core/tuner/sitting/sitting_report.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct TuneFlags {
  ModelOptions model;
  TuneOptions with;
  std::string list, compact;
  uint64_t trials = 0;
  bool quick = false, deep = false;
  std::vector<std::string> slurm_options;
  std::optional<std::string> slurm;  // the partition; "-": the default one
  std::string slurm_build = "there";
  uint64_t slurm_workers = 2;
  double slurm_drift = 3;  // percent
};

constexpr size_t kQuickTrials = 32, kTrials = 128, kDeepTrials = 1000;

size_t trials_of(const TuneFlags& options) {
  if (options.trials != 0) return options.trials;
  return options.quick ? kQuickTrials : options.deep ? kDeepTrials : kTrials;
}

Status check_usage(const TuneFlags& options) {
  if (options.with.log.empty())
    return cli::usage_error("the option --log is needed: the file that measurements go to")
        .with_help(cat("byoc tune ", options.model.model, " --log tuning.jsonl"));
  if (options.quick + options.deep + (options.trials != 0) > 1)
    return cli::usage_error("--trials, --quick and --deep exclude each other");
  const bool is_cluster = options.slurm.has_value();
  if (!is_cluster && (!options.slurm_options.empty() || options.slurm_build != "there"))
    return cli::usage_error("--slurm-option and --slurm-build need --slurm");
  if (options.slurm_build != "there" && options.slurm_build != "here")
    return cli::usage_error(
        cat("--slurm-build is here or there, not \"", options.slurm_build, "\""));
  if (!(options.slurm_drift > 0)) return cli::usage_error("--slurm-drift expects more than 0");
  if (options.slurm_workers == 0) return cli::usage_error("--slurm-workers expects 1 or more");
  return {};
}

/// Returns the use of a cluster, nothing without --slurm.
std::optional<tune::SlurmOptions> slurm_options(const TuneFlags& options) {
  if (!options.slurm) return std::nullopt;
  tune::SlurmOptions out;
  if (*options.slurm != "-") out.partition = *options.slurm;
  out.workers = options.slurm_workers;
  out.builds_here = options.slurm_build == "here";
  out.most_drift = options.slurm_drift / 100;
  out.sbatch_options = options.slurm_options;
  return out;
}

Result<int> tune_one(const TuneFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(check_usage(options));
  TuneOptions with = options.with;
  with.trials = trials_of(options);
  with.program = "/proc/self/exe";
  Progress progress(common);
  Interrupt interrupt;
  interrupt.set_watched(true);
  auto tuned =
      tune_file(options.model, with, {slurm_options(options), common.verbose},
                [&](const auto& tasks, const auto& sitting, const auto& report) {
                  const tune::Share share = tune::share_done(report, sitting);
                  progress.show(tune::progress_text(tasks, report), share.done, share.total);
                  return !interrupt.requested();
                });
  progress.clear();
  if (!tuned.ok()) return std::move(tuned.status());
  const auto& [tasks, sitting, report] = *tuned;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (const std::string& defect = report.tasks[k].defect; !defect.empty())
      cli::print_warning(cat("@", tasks[k].symbols[0], " cannot be measured: ", defect), common);
  }
  for (const std::string& remark : report.remarks) cli::print_warning(remark, common);
  cli::print_text(tune::report_text(tasks, report, sitting), common);
  BYOC_TRY_STATUS(cli::print_json(common, "tune", json_of(*tuned)));
  if (report.end != tune::SittingEnd::kInterrupted) return cli::kDone;
  const Status why(Code::kCancelled, cat("interrupted; ", with.log, " has all measurements"));
  cli::print_error(Status(why).with_slug("interrupted"), {.color = common.color}, "byoc tune");
  return cli::kInterrupted;
}

Result<int> list_log(const TuneFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(tune::LoggedTasks logged, tune::read_tasks(options.list));
  cli::print_text(tune::text_of(logged), common);
  BYOC_TRY_STATUS(cli::print_json(common, "tune-list", tune::json_of(logged)));
  return cli::kDone;
}

Result<int> compact(const TuneFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(size_t records, tune::compact_log(options.compact));
  cli::print_text(cat(options.compact, " has ", records, " records now\n"), common);
  BYOC_TRY_STATUS(
      cli::print_json(common, "tune-compact", {{"log", options.compact}, {"records", records}}));
  return cli::kDone;
}

Result<int> run_tune(const TuneFlags& options, const cli::CommonOptions& common) {
  const int works = !options.model.model.empty() + !options.list.empty() + !options.compact.empty();
  if (works != 1) return cli::usage_error("expected one of MODEL, --list LOG and --compact LOG");
  if (!options.list.empty()) return list_log(options, common);
  if (!options.compact.empty()) return compact(options, common);
  return tune_one(options, common);
}

void add_sitting_options(cli::Command& command, TuneFlags& options) {
  auto& all = command.options;
  all.push_back({"--log", "FILE", "measurements are appended to it; a sitting continues from it",
                 &options.with.log});
  all.push_back({"--observations", "FOLDER",
                 "what all commands have measured here, or none (default: in the cache folder)",
                 &options.with.observations});
  all.push_back({"--trials", "N", "points per task on average (default 128)", &options.trials});
  all.push_back({"--quick", "", "32 points per task", &options.quick});
  all.push_back({"--deep", "", "1000 points per task", &options.deep});
  all.push_back({"--budget", "SECONDS", "end after this time", &options.with.budget_s});
  all.push_back(
      {"--task", "REGEX", "only tasks whose kind, function or node matches", &options.with.tasks});
  all.push_back({"--seed", "S", "of the search and of the inputs (default 1)", &options.with.seed});
  all.push_back(
      {"--jobs", "N", "processes that compile (default: one less than cores)", &options.with.jobs});
  all.push_back({"--build-limit", "SECONDS", "for compiling a point (default 10)",
                 &options.with.build_limit_s});
  all.push_back(
      {"--run-limit", "SECONDS", "for one run of a point (default 1)", &options.with.run_limit_s});
  all.push_back({"--starts", "FILE",
                 "begin with the points of a log of AutoTVM 0.2 or auto_scheduler 0.6, or of a "
                 "database of MetaSchedule; may be repeated",
                 &options.with.starts});
  all.push_back({"--autotvm", "FILE", "the same as --starts", &options.with.starts});
  all.push_back({"--slurm", "PARTITION",
                 "measure on machines of a Slurm cluster; the folder of the log must be on a file "
                 "system that these see",
                 &options.slurm});
  all.push_back(
      {"--slurm-workers", "N", "machines that measure (default 2)", &options.slurm_workers});
  all.push_back({"--slurm-build", "WHERE",
                 "compile points there, on these machines (default), or here",
                 &options.slurm_build});
  all.push_back({"--slurm-drift", "PERCENT",
                 "leave a machine out whose speed changes by more than this (default 3)",
                 &options.slurm_drift});
  all.push_back({"--slurm-option", "TEXT",
                 "a further argument of sbatch, --time=60; may be repeated",
                 &options.slurm_options});
  all.push_back({"--list", "LOG", "print the best point per task of a log", &options.list});
  all.push_back(
      {"--compact", "LOG", "keep the best points of a log, and few others", &options.compact});
}

}  // namespace

cli::Command tune_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<TuneFlags>();
  cli::Command command;
  command.name = "tune";
  command.about = "measure the choices that plugins have, and keep the times in a log";
  command.examples = {
      {"byoc tune net.onnx --log net.jsonl", "128 points per task; Ctrl-C keeps what is measured"},
      {"byoc tune net.onnx --log net.jsonl --quick --task conv", "32 points for convolutions"},
      {"byoc tune net.onnx --log net.jsonl --budget 600", "ten minutes, continuing from the log"},
      {"byoc tune net.onnx --log net.jsonl --slurm=fast --slurm-workers 4",
       "four machines of the partition fast measure"},
      {"byoc tune --list net.jsonl", "the best points so far"},
      {"byoc compile net.onnx --tuning-log net.jsonl -o net.byoc", "use them"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options[0].required = false;  // --list and --compact need none
  add_sitting_options(command, *options);
  command.run = [options, &common] { return run_tune(*options, common); };
  return command;
}

}  // namespace byoc::driver
