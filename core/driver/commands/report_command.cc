// SPDX-License-Identifier: Apache-2.0
// byoc report: writes one page that shows a model, its regions, reasons, times and memory.
#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/reported.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/tuning.h"
#include "core/tools/report/page.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct ReportFlags {
  ModelOptions model;
  std::vector<std::string> inputs;
  ReportOptions report{.page_file = "report.html"};
};

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

Result<int> run_report(const ReportFlags& options, const cli::CommonOptions& common) {
  const std::string& output = options.report.page_file;
  if (output == "-" && common.json == "-")
    return cli::usage_error("-o - must be the only output on stdout; give --json a file");
  BYOC_TRY_STATUS(check_report(options.report));
  Progress progress(common);
  Interrupt interrupt;
  interrupt.set_watched(true);
  const Warn warn = warn_to(common);
  Result<Json> data = report_file(options.model, options.inputs, options.report, warn,
                                  [&](std::string_view what, uint64_t done, uint64_t total) {
                                    progress.show(what, done, total);
                                    return !interrupt.requested();
                                  });
  progress.clear();
  BYOC_TRY_STATUS(data.status());
  std::string page = report_page(*data);
  if (output == "-") cli::print_text(page, common);
  else BYOC_TRY_STATUS(write_file(output, page));
  cli::print_text(summary(*data, output), common);
  for (const std::string& text : report_warnings(*data)) warn(text);
  BYOC_TRY_STATUS(cli::print_json(common, "report", *data));
  if (!(*data)["interrupted"].get<bool>()) return cli::kDone;
  cli::print_warning("interrupted: the page has what was done until then", common);
  return cli::kInterrupted;
}

void add_report_options(cli::Command& command, ReportFlags& options) {
  auto& all = command.options;
  ReportOptions& report = options.report;
  all.push_back(
      {"-o,--output", "FILE", "the page (default report.html); - is stdout", &report.page_file});
  all.push_back({"--vs", "CONFIG",
                 "another configuration, shown beside the first: settings as in byoc bench --vs",
                 &report.versus});
  all.push_back(
      {"--costs", "FILE",
       "the costs of candidates that explain --placement --json=FILE wrote; without: estimates",
       &report.costs});
  all.push_back(
      {"--input", "NAME=VALUE", "as in byoc run; those not given are random", &options.inputs});
  all.push_back({"--seed", "N", "of the random inputs (default 0)", &report.seed});
  all.push_back(
      {"--warmup", "S", "seconds of runs before measuring (default 0.2)", &report.warmup_s});
  all.push_back({"--min-time", "S", "seconds of measured runs of each configuration (default 1)",
                 &report.min_time_s});
  all.push_back({"--rounds", "N", "turns the configurations take (default 5)", &report.rounds});
  all.push_back({"--tolerance", "X", kToleranceHelp, &report.tolerance});
  all.push_back(
      {"--no-check", "", "do not compare the outputs with the reference's", &report.no_check});
  all.push_back({"--no-run", "", "graph and reasons alone: nothing is compiled for runs and timed",
                 &report.no_run});
}

}  // namespace

cli::Command report_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<ReportFlags>();
  cli::Command command;
  command.name = "report";
  command.about = "write one page with the graph, reasons, times and memory of a model";
  command.examples = {
      {"byoc report net.onnx -o net.html", "one file, which a browser shows without network"},
      {"byoc report net.onnx --vs compiler=llvm -o net.html", "two configurations side by side"},
      {"byoc report net.onnx --no-run", "graph and reasons, no times"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  add_report_options(command, *options);
  command.notes =
      "Reasons are those of byoc explain, times those of byoc bench: configurations take turns,\n"
      "and times of regions come from runs of their own. After Ctrl-C the page has what was done\n"
      "until then; the exit code is 130.";
  command.run = [options, &common] { return run_report(*options, common); };
  return command;
}

}  // namespace byoc::driver
