// SPDX-License-Identifier: Apache-2.0
#include "core/library/explained_placement.h"

#include <algorithm>

#include "core/placement/choose_base.h"
#include "core/tools/place/borders.h"
#include "core/tools/place/search.h"
#include "core/tools/sizes/open_ranges.h"

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
  BYOC_TRY(RangedModel loaded, load_ranged(options));
  IRModule& module = loaded.module;
  BYOC_TRY(BuildOptions build, options_by_cost(options));
  BYOC_TRY(PassContext context, make_context(module, build));
  ExplainedPlacement explained;
  explained.plugins = context.plugins;
  BYOC_TRY(explained.module, before_placement(std::move(module), context));
  BYOC_TRY(explained.costs, placement::costs_of(context));
  explained.remarks = explained.costs.remarks;
  if (!loaded.ranges.empty()) explained.remarks.push_back(ranges_text(loaded.ranges));
  for (std::string& text : placement::unused_rules(explained.module, explained.costs.rules))
    explained.remarks.push_back(std::move(text));
  placement::PlaceNotes notes;
  BYOC_TRY(explained.functions, placement::place_functions(explained.module, context.compilers,
                                                           explained.costs, context, notes));
  return explained;
}

Result<std::vector<Border>> borders_by_cost(const ModelOptions& options) {
  BYOC_TRY(RangedModel loaded, load_ranged(options));
  IRModule module = std::move(loaded.module);
  BYOC_TRY(BuildOptions build, options_by_cost(options));
  build.options["plan"] = "none";
  BYOC_TRY(PassContext context, make_context(module, build));
  BYOC_TRY(std::vector<Pass> passes, Pipeline::until("fuse_ops", context));
  BYOC_TRY(module, run_passes(std::move(module), passes, context));
  return borders_of(module);
}

}  // namespace byoc::driver
