// SPDX-License-Identifier: Apache-2.0
#include "core/driver/commands/explain_diff.h"

#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/library/explained.h"
#include "core/tools/diff/explanation_diff.h"
#include "core/tools/measure/subject.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr std::string_view kSchema = "byoc.explain/1";

Result<Json> stored_explanation(const std::string& path) {
  BYOC_TRY(std::string text, read_file(path));
  Result<Json> json = parse_json(text);
  if (!json.ok()) return std::move(json.status()).at(path);
  auto schema = json->is_object() ? json->find("schema") : json->end();
  if (json->is_object() && schema != json->end() && *schema == kSchema) return json;
  return invalid(cat(path, " has no JSON of byoc explain: its \"schema\" is not \"", kSchema, "\""))
      .with_slug("explanation")
      .with_help(cat("byoc explain MODEL --json=", path, " writes one"));
}

/// Returns the options of a model's file, or of the same model with other settings.
Result<ModelOptions> other_options(const std::string& before, const ModelOptions& options) {
  std::error_code error;
  bool is_file = std::filesystem::exists(before, error);
  if (is_file || before.find('=') == before.npos) {
    ModelOptions out = options;
    out.model = before;
    return out;
  }
  uint32_t threads = options[option::kThreads];
  BYOC_TRY(SubjectRequest other,
           other_request(SubjectRequest{.model = options}, before, threads, "--diff"));
  other.model[option::kThreads] = threads;
  return std::move(other.model);
}

Result<Json> explanation_before(const std::string& before, const ModelOptions& options) {
  if (before.ends_with(".json")) return stored_explanation(before);
  BYOC_TRY(ModelOptions other, other_options(before, options));
  BYOC_TRY(const Explained explained, explain_file(other));
  return json_of(explained, other);
}

}  // namespace

Result<int> run_explain_diff(const std::string& before, const ModelOptions& options,
                             const Json& after, const cli::CommonOptions& common) {
  BYOC_TRY(Json first, explanation_before(before, options));
  Result<ExplanationDiff> diff = explanation_diff(first, after);
  if (!diff.ok()) return std::move(diff.status()).at(before);
  cli::print_text(diff_text(*diff), common);
  BYOC_TRY_STATUS(cli::print_json(common, "explain-diff", diff_json(*diff)));
  return cli::kDone;
}

}  // namespace byoc::driver
