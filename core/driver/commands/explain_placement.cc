// SPDX-License-Identifier: Apache-2.0
#include "core/driver/commands/explain_placement.h"

#include "core/library/explained_placement.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

// Appends the borders to a report. Functions with open sizes are not fused, and have none yet.
void add_borders(const ModelOptions& options, std::string& text, Json& json) {
  Result<std::vector<Border>> found = borders_by_cost(options);
  if (!found.ok()) {
    text += cat("borders: not shown: ", found.status().message(), "\n");
    return;
  }
  text += borders_text(*found);
  json["borders"] = borders_json(*found);
}

}  // namespace

Result<int> run_explain_placement(const ModelOptions& options, const std::string& op,
                                  const std::string& diff, const cli::CommonOptions& common) {
  BYOC_TRY(ExplainedPlacement explained, explained_placement(options));
  std::string text;
  if (diff.empty()) {
    BYOC_TRY(text, placement_text(explained, op));
  } else {
    BYOC_TRY(placement::Plan before, placement::read_plan(diff));
    BYOC_TRY(text, plan_difference(explained, before));
  }
  Json json = placement_json(explained);
  if (diff.empty() && op.empty()) add_borders(options, text, json);
  cli::print_text(text, common);
  BYOC_TRY_STATUS(cli::print_json(common, "explain-placement", json));
  return cli::kDone;
}

}  // namespace byoc::driver
