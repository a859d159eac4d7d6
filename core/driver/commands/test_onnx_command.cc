// SPDX-License-Identifier: Apache-2.0
// byoc test-onnx: runs ONNX's backend test folders, each case in a process of its own.
#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/translate/policies.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tools/verify/onnx_case.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct TestOnnxFlags {
  std::vector<std::string> folders, shapes;
  ModelOptions model;
  uint32_t jobs = 2, timeout_s = 60;
};

constexpr std::string_view kVerdicts[] = {"passed", "folded", "failed", "unsupported", "not_run"};

struct Counts {
  size_t of[std::size(kVerdicts)] = {};
  size_t bound = 0;  // passed with inputs bound as constants
};

Counts count(const std::vector<CaseResult>& results) {
  Counts counts;
  for (const CaseResult& result : results) {
    ++counts.of[result.verdict];
    bool is_right = result.verdict == CaseResult::kPassed || result.verdict == CaseResult::kFolded;
    counts.bound += is_right && !result.bound.empty();
  }
  return counts;
}

std::string text_of(const std::vector<std::string>& folders, const std::vector<CaseResult>& results,
                    const Counts& counts, bool strict, bool verbose) {
  std::string out;
  for (size_t k = 0; k < folders.size(); ++k) {
    bool shown = results[k].verdict == CaseResult::kFailed ||
                 (verbose && results[k].verdict == CaseResult::kUnsupported);
    if (shown)
      out += cat(kVerdicts[results[k].verdict], " ", folders[k], "\n  ", results[k].reason, "\n");
  }
  if (counts.bound)
    out += cat(counts.bound, " passed with operands bound to the data set's values\n");
  out += cat(counts.of[CaseResult::kPassed], " passed, ");
  if (strict) out += cat(counts.of[CaseResult::kFolded], " folded, ");
  out += cat(counts.of[CaseResult::kFailed], " failed, ", counts.of[CaseResult::kUnsupported],
             " unsupported");
  size_t left = counts.of[CaseResult::kNotRun];
  return out + (left ? cat(", ", left, " not run\n") : "\n");
}

std::vector<CaseResult> run_shown(const std::vector<std::string>& folders,
                                  const BuildOptions& build_with, const GivenShapes& sizes,
                                  const TestOnnxFlags& options, const cli::CommonOptions& common) {
  Progress progress(common);
  uint64_t furthest = 0;  // cases that run at the same time report in turns
  auto results = run_cases_isolated(folders, build_with, sizes, options.jobs, options.timeout_s,
                                    [&](std::string_view folder, uint64_t done, uint64_t total) {
                                      furthest = std::max(furthest, done);
                                      progress.show(folder, furthest, total);
                                    });
  progress.clear();
  return results;
}

Json to_json(const std::vector<std::string>& folders, const std::vector<CaseResult>& results,
             const Counts& counts) {
  Json cases = Json::array();
  for (size_t k = 0; k < folders.size(); ++k) {
    cases.push_back({{"folder", folders[k]},
                     {"verdict", kVerdicts[results[k].verdict]},
                     {"reason", results[k].reason},
                     {"bound", results[k].bound}});
  }
  Json out;
  for (size_t k = 0; k < std::size(kVerdicts); ++k) out[std::string(kVerdicts[k])] = counts.of[k];
  out["cases"] = std::move(cases);
  return out;
}

Result<int> run_test_onnx(const TestOnnxFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(auto folders, find_cases(options.folders));
  BYOC_TRY(const GivenShapes sizes, parse_shapes(options.shapes));
  BYOC_TRY(BuildOptions build_with, build_options(options.model));
  if (build_with.policies)  // some of the models have no such ops
    build_with.policies = te::unchecked({&build_with.policies, 1})[0];
  auto results = run_shown(folders, build_with, sizes, options, common);
  Counts counts = count(results);
  cli::print_text(text_of(folders, results, counts, build_with.strict, common.verbose), common);
  if (size_t left = counts.of[CaseResult::kNotRun]; left > 0) {
    return Status(Code::kCancelled, cat("interrupted after ", folders.size() - left, " of ",
                                        folders.size(), " cases"))
        .with_slug("interrupted");
  }
  BYOC_TRY_STATUS(cli::print_json(common, "test-onnx", to_json(folders, results, counts)));
  return counts.of[CaseResult::kFailed] ? cli::kFailed : cli::kDone;
}

}  // namespace

cli::Command test_onnx_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<TestOnnxFlags>();
  cli::Command command;
  command.name = "test-onnx";
  command.about = "run ONNX backend test folders";
  command.examples = {
      {"byoc test-onnx /usr/share/libonnx-testdata/data/node --compiler json",
       "all cases below a folder"},
      {"byoc test-onnx test_relu -v", "one case; -v: also why cases are unsupported"},
      {"byoc test-onnx test_shape --strict",
       "\"folded\": the core computed all of it at compile time, no plugin ran"},
      {"byoc test-onnx cases --shape N=1..8",
       "models whose inputs name the size N are compiled for all of these, and run with what is "
       "stored"}};
  command.options = {
      {"DIR", "", "case folders, or folders that contain some", &options->folders, true}};
  add_options_of(command, options->model, {OptionPart::kBuild, OptionPart::kPlugins});
  command.options.push_back(
      {"--shape", "NAME=N..M",
       "compile for these numbers of a size that a model names, in place of the stored extent",
       &options->shapes});
  command.options.push_back({"--jobs", "N", "cases at a time", &options->jobs});
  command.options.push_back(
      {"--timeout", "SECONDS", "for one case; longer is a failure", &options->timeout_s});
  command.run = [options, &common] { return run_test_onnx(*options, common); };
  return command;
}

}  // namespace byoc::driver
