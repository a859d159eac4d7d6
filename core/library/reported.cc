// SPDX-License-Identifier: Apache-2.0
#include "core/library/reported.h"

#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/library/explained_placement.h"
#include "core/library/request.h"
#include "core/tools/report/candidates.h"
#include "core/tools/report/page.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

/// Returns the candidates in the file of costs, or with their estimates; null where a model cannot
/// be placed.
Result<Json> costs_for(const ModelOptions& options, const ReportOptions& with) {
  if (!with.costs.empty()) return read_candidates(with.costs);
  Result<ExplainedPlacement> placed = explained_placement(options);
  return placed.ok() ? candidates_of(placement_json(*placed)) : Json();
}

}  // namespace

Status check_report(const ReportOptions& with) {
  if (!(with.warmup_s >= 0) || !(with.min_time_s >= 0) || with.rounds == 0)
    return cli::usage_error("--warmup and --min-time expect seconds, --rounds 1 or more");
  BYOC_TRY_STATUS(
      cli::check_ending("-o", with.page_file, "a page for a browser", " .html .htm .xhtml "));
  std::filesystem::path folder = std::filesystem::path(with.page_file).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return failed(cat("cannot create ", with.page_file, ": there is no folder ", folder.string()))
      .with_slug("file");
}

Result<Json> report_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                         const ReportOptions& with, const Warn& warn, const measure::Watch& watch) {
  BYOC_TRY(Json costs, costs_for(options, with));
  SubjectRequest subject;
  subject.model = options;
  subject.inputs = inputs;
  subject.seed = with.seed;
  subject.no_check = with.no_check;
  ReportPlan plan{.tolerance = with.tolerance, .no_run = with.no_run, .warn = warn};
  plan.timing.warmup_s = with.warmup_s;
  plan.timing.min_time_s = with.min_time_s;
  plan.timing.rounds = with.rounds;
  BYOC_TRY(Json data, report_json(subject, with.versus, plan, watch));
  data["costs"] = std::move(costs);
  return data;
}

std::vector<std::string> report_warnings(const Json& data) {
  std::vector<std::string> out;
  for (const Json& configuration : data["configurations"]) {
    const Json& bench = configuration["bench"];  // all were measured in the same minutes
    if (bench.is_null() || !bench["other_load"]["busy"].get<bool>()) continue;
    out.emplace_back(
        "the machine was busy: times, rates and shares are not reliable; measure again on a quiet "
        "machine");
    break;
  }
  for (const Json& configuration : data["configurations"]) {
    std::string why = configuration["explain"]["uncompiled"];
    if (!why.empty())
      out.push_back(
          cat(configuration["name"].get<std::string>(), ": the model does not compile: ", why));
  }
  return out;
}

}  // namespace driver

Result<ModelReport> report_model(const ModelRequest& request, const ReportOptions& options) {
  BYOC_TRY_STATUS(driver::check_report(options));
  ModelReport out;
  auto warn = [&out](const std::string& text) { out.warnings.push_back(text); };
  BYOC_TRY(const Json data, driver::report_file(driver::options_of(request), request.inputs,
                                                options, warn, driver::watch_of(request)));
  for (const std::string& text : driver::report_warnings(data)) warn(text);
  out.page = driver::report_page(data);
  if (!options.page_file.empty()) BYOC_TRY_STATUS(write_file(options.page_file, out.page));
  out.is_interrupted = data["interrupted"].get<bool>();
  out.json = cli::json_text("report", true, data);
  return out;
}

}  // namespace byoc
