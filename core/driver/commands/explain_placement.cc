// SPDX-License-Identifier: Apache-2.0
#include "core/driver/commands/explain_placement.h"

#include <algorithm>

#include "core/tools/model/partial_pipeline.h"
#include "core/tools/place/borders.h"
#include "core/tools/place/search.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

/// Returns the options with auto among the plugins.
Result<BuildOptions> options_by_cost(ModelOptions options) {
  options.places = true;
  BYOC_TRY(BuildOptions build, build_options(options));
  if (!std::count(build.compilers.begin(), build.compilers.end(), "auto"))
    build.compilers.insert(build.compilers.begin(), "auto");
  return build;
}

}  // namespace

Result<ExplainedPlacement> explained_placement(const ModelOptions& options) {
  BYOC_TRY(IRModule module, load_model(options));
  BYOC_TRY(BuildOptions build, options_by_cost(options));
  BYOC_TRY(PassContext context, make_context(module, build));
  ExplainedPlacement explained;
  explained.plugins = context.plugins;
  BYOC_TRY(explained.module, before_placement(std::move(module), context));
  BYOC_TRY(explained.costs, placement::costs_of(context));
  explained.remarks = explained.costs.remarks;
  for (std::string& text : placement::unused_rules(explained.module, explained.costs.rules))
    explained.remarks.push_back(std::move(text));
  BYOC_TRY(std::vector<Symbol> names, placement::placed_functions(explained.module));
  for (Symbol name : names) {
    BYOC_TRY(placement::FunctionPlacement placed,
             placement::place_function(explained.module, name, context.compilers, explained.costs,
                                       context));
    explained.functions.push_back(std::move(placed));
  }
  return explained;
}

namespace {

// Returns the borders of the choice by cost, as regions and the default codegen's functions have
// them when they are compiled.
Result<std::vector<Border>> borders(const ModelOptions& options) {
  BYOC_TRY(IRModule module, load_model(options));
  BYOC_TRY(BuildOptions build, options_by_cost(options));
  build.options["plan"] = "none";
  BYOC_TRY(PassContext context, make_context(module, build));
  BYOC_TRY(std::vector<Pass> passes, passes_until("fuse_ops", context));
  BYOC_TRY(module, run_passes(std::move(module), passes, context));
  return borders_of(module);
}

// Appends the borders to a report. Functions with open sizes are not fused, and have none yet.
void add_borders(const ModelOptions& options, std::string& text, Json& json) {
  Result<std::vector<Border>> found = borders(options);
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
