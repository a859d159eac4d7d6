// SPDX-License-Identifier: Apache-2.0
// Runs ONNX cases in child processes. The parent starts no threads before it forks; it only opens
// the plugins.
#include "byoc/base/json.h"
#include "core/process/child.h"
#include "core/tools/verify/onnx_case.h"

namespace byoc::driver {
namespace {

std::string to_text(const CaseResult& result) {
  Json json = {{"verdict", static_cast<int>(result.verdict)},
               {"reason", result.reason},
               {"bound", result.bound}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Parses the text of to_text. Returns false for any other text.
bool from_text(const std::string& text, CaseResult& result) {
  auto json = parse_json(text);
  if (!json.ok() || !json->contains("verdict")) return false;
  result.verdict = static_cast<CaseResult::Verdict>((*json)["verdict"].get<int>());
  result.reason = (*json)["reason"].get<std::string>();
  result.bound = (*json)["bound"].get<std::vector<std::string>>();
  return true;
}

CaseResult case_result(const process::ChildResult& child, uint32_t timeout_s) {
  CaseResult result;
  if (child.end.kind == process::End::kInterrupted) result.verdict = CaseResult::kNotRun;
  if (child.end.kind == process::End::kTimedOut)
    result.reason = cat("timed out after ", timeout_s, " s");
  else if (!child.finished) result.reason = child.defect;
  else if (!from_text(child.result, result)) result.reason = "the child's result cannot be read";
  return result;
}

}  // namespace

std::vector<CaseResult> run_cases_isolated(const std::vector<std::string>& folders,
                                           const BuildOptions& options, const GivenShapes& sizes,
                                           uint32_t jobs, uint32_t timeout_s,
                                           const CaseProgress& progress) {
  std::vector<CaseResult> results;
  process::catch_interrupts();
  process::ChildLimits limits{
      .timeout_s = timeout_s, .captures_output = false, .progress = progress};
  auto children = process::run_in_children(limits, folders.size(), jobs, [&](size_t k) {
    process::doing(folders[k]);
    process::progress_to(k, k, folders.size());
    return to_text(run_case(folders[k], options, sizes));
  });
  for (const process::ChildResult& child : children)
    results.push_back(case_result(child, timeout_s));
  return results;
}

}  // namespace byoc::driver
