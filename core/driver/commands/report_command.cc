// SPDX-License-Identifier: Apache-2.0
// byoc report: writes one page that shows a model, its regions, reasons, times and memory.
#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/explained_placement.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/tuning.h"
#include "core/tools/report/candidates.h"
#include "core/tools/report/configuration.h"
#include "core/tools/report/page.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct Options {
  SubjectRequest subject;
  measure::TimingPlan timing;
  double tolerance = -1;
  bool no_run = false;
  std::string output = "report.html", costs;
  std::vector<std::string> vs;
};

Status check(const Options& options, const cli::CommonOptions& common) {
  const measure::TimingPlan& plan = options.timing;
  if (!(plan.warmup_s >= 0) || !(plan.min_time_s >= 0) || plan.rounds == 0)
    return cli::usage_error("--warmup and --min-time expect seconds, --rounds 1 or more");
  if (options.output == "-" && common.json == "-")
    return cli::usage_error("-o - must be the only output on stdout; give --json a file");
  BYOC_TRY_STATUS(
      cli::check_ending("-o", options.output, "a page for a browser", " .html .htm .xhtml "));
  std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return failed(cat("cannot create ", options.output, ": there is no folder ", folder.string()))
      .with_slug("file");
}

std::string summary(const Json& data, const std::string& path) {
  std::string out;
  for (const Json& configuration : data["configurations"]) {
    out +=
        cat(configuration["name"].get<std::string>(), ": ", configuration["explain"]["ops"].size(),
            " ops, ", configuration["graph"]["regions"].size(), " regions");
    const Json& bench = configuration["bench"];
    if (!bench.is_null())
      out +=
          cat(", median ", cli::format_time(bench["configurations"][0]["median_ns"].get<double>()));
    out += "\n";
  }
  return path == "-" ? "" : out + cat("wrote ", path, ", for a browser\n");
}

void warn(const Json& data, const cli::CommonOptions& common) {
  for (const Json& configuration : data["configurations"]) {
    const Json& bench = configuration["bench"];  // all were measured in the same minutes
    if (bench.is_null() || !bench["other_load"]["busy"].get<bool>()) continue;
    cli::print_warning(
        "the machine was busy: times, rates and shares are not reliable; measure again on a quiet "
        "machine",
        common);
    break;
  }
  for (const Json& configuration : data["configurations"]) {
    std::string why = configuration["explain"]["uncompiled"];
    if (!why.empty())
      cli::print_warning(
          cat(configuration["name"].get<std::string>(), ": the model does not compile: ", why),
          common);
  }
}

// Returns the candidates in the file of --costs, or with their estimates; null where a model cannot
// be placed.
Result<Json> costs_for(const Options& options) {
  if (!options.costs.empty()) return read_candidates(options.costs);
  Result<ExplainedPlacement> placed = explained_placement(options.subject.model);
  return placed.ok() ? candidates_of(placement_json(*placed)) : Json();
}

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(check(options, common));
  BYOC_TRY(Json costs, costs_for(options));
  Progress progress(common);
  Interrupt interrupt;
  interrupt.set_watched(true);
  ReportPlan plan{options.timing, options.tolerance, options.no_run, warn_to(common)};
  Result<Json> data = report_json(options.subject, options.vs, plan,
                                  [&](std::string_view what, uint64_t done, uint64_t total) {
                                    progress.show(what, done, total);
                                    return !interrupt.requested();
                                  });
  progress.clear();
  BYOC_TRY_STATUS(data.status());
  (*data)["costs"] = std::move(costs);
  std::string page = report_page(*data);
  if (options.output == "-") cli::print_text(page, common);
  else BYOC_TRY_STATUS(write_file(options.output, page));
  cli::print_text(summary(*data, options.output), common);
  warn(*data, common);
  BYOC_TRY_STATUS(cli::print_json(common, "report", *data));
  if (!(*data)["interrupted"].get<bool>()) return cli::kDone;
  cli::print_warning("interrupted: the page has what was done until then", common);
  return cli::kInterrupted;
}

void add_report_options(cli::Command& command, Options& options) {
  auto& all = command.options;
  all.push_back(
      {"-o,--output", "FILE", "the page (default report.html); - is stdout", &options.output});
  all.push_back({"--vs", "CONFIG",
                 "another configuration, shown beside the first: settings as in byoc bench --vs",
                 &options.vs});
  all.push_back(
      {"--costs", "FILE",
       "the costs of candidates that explain --placement --json=FILE wrote; without: estimates",
       &options.costs});
  all.push_back({"--input", "NAME=VALUE", "as in byoc run; those not given are random",
                 &options.subject.inputs});
  all.push_back({"--seed", "N", "of the random inputs (default 0)", &options.subject.seed});
  all.push_back({"--warmup", "S", "seconds of runs before measuring (default 0.2)",
                 &options.timing.warmup_s});
  all.push_back({"--min-time", "S", "seconds of measured runs of each configuration (default 1)",
                 &options.timing.min_time_s});
  all.push_back(
      {"--rounds", "N", "turns the configurations take (default 5)", &options.timing.rounds});
  all.push_back({"--tolerance", "X", kToleranceHelp, &options.tolerance});
  all.push_back({"--no-check", "", "do not compare the outputs with the reference's",
                 &options.subject.no_check});
  all.push_back({"--no-run", "", "graph and reasons alone: nothing is compiled for runs and timed",
                 &options.no_run});
}

}  // namespace

cli::Command report_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "report";
  command.about = "write one page with the graph, reasons, times and memory of a model";
  command.examples = {
      {"byoc report net.onnx -o net.html", "one file, which a browser shows without network"},
      {"byoc report net.onnx --vs compiler=llvm -o net.html", "two configurations side by side"},
      {"byoc report net.onnx --no-run", "graph and reasons, no times"}};
  add_model_options(command, options->subject.model, "an .onnx or .ir file");
  add_tuning_options(command, options->subject.model);
  add_report_options(command, *options);
  command.notes =
      "Reasons are those of byoc explain, times those of byoc bench: configurations take turns,\n"
      "and times of regions come from runs of their own. After Ctrl-C the page has what was done\n"
      "until then; the exit code is 130.";
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
