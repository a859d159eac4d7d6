// SPDX-License-Identifier: Apache-2.0
#include "core/library/partitioned.h"

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "byoc/pass/codegen.h"
#include "byoc/pass/simplify.h"
#include "byoc/text/text.h"
#include "core/library/request.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

bool is_file(const std::string& name) { return !name.empty() && name != "-"; }

Status partition_and_compare(IRModule module, const BuildOptions& options, PartitionedModel& out) {
  BYOC_TRY(PassContext context, make_context(module, options));
  Status counted;
  auto count_baselines = [&](const IRModule& annotated) -> Status {
    BYOC_TRY(out.baseline, measure_waves(annotated, context, WaveRegions::kConnected));
    BYOC_TRY(out.unconnected, measure_waves(annotated, context, WaveRegions::kWhole));
    return {};
  };
  context.instruments.push_back({[&](const Pass& pass, const IRModule& before) {
                                   if (pass.name == "merge_compiler_regions")
                                     counted = count_baselines(before);
                                 },
                                 nullptr});
  BYOC_TRY(out.module, run_passes(std::move(module), partition_pipeline(context), context));
  return counted;
}

/// Draws the regions, and the functions that the default codegens would get. Where none of them
/// takes all that is left, or sizes are open, ops are drawn in no region.
Result<Picture> draw_module(const IRModule& module, const BuildOptions& build_with,
                            const std::string& title) {
  BYOC_TRY(PassContext context, make_context(module, build_with));
  BYOC_TRY(IRModule whole, inline_functions(module, context));
  Result<IRModule> fused = fuse_ops(whole, context);
  std::set<std::string> plugins;  // all of them, so that the colours are those of byoc report
  for (const auto& plugin : build_with.plugins->all()) plugins.insert(plugin->id());
  return draw(fused.ok() ? *fused : whole, title, plugins);
}

}  // namespace

Result<PartitionedModel> partition_file(const ModelOptions& options, const PartitionOptions& with) {
  PartitionedModel out;
  BYOC_TRY_STATUS(cli::check_ending("--svg", with.svg_file, "a picture as SVG", " .svg "));
  BYOC_TRY(IRModule model, load_model(options));
  out.inputs = check_static_inputs(model);
  BYOC_TRY(BuildOptions build_with, build_options(options));
  BYOC_TRY_STATUS(partition_and_compare(with_names(std::move(model)), build_with, out));
  out.placement = placement_of(out.module);
  if (with.draws || !with.svg_file.empty()) {
    BYOC_TRY(out.picture, draw_module(out.module, build_with, options.model));
  }
  if (is_file(with.svg_file)) BYOC_TRY_STATUS(write_file(with.svg_file, out.picture.svg));
  if (is_file(with.module_file)) BYOC_TRY_STATUS(write_module(out.module, with.module_file));
  return out;
}

Json json_of(const PartitionedModel& partitioned, const PartitionOptions& with) {
  const PartitionMetrics &baseline = partitioned.baseline, &unconnected = partitioned.unconnected;
  Json json = placement_json(partitioned.placement);
  json["region_count"] = partitioned.placement.borders.regions;
  json["baseline"] = {{"name", "priority-greedy waves"},
                      {"region_count", baseline.regions},
                      {"border_tensors", baseline.tensors},
                      {"border_bytes", baseline.bytes},
                      {"unconnected_region_count", unconnected.regions},
                      {"unconnected_border_tensors", unconnected.tensors}};
  json["output"] = with.module_file;
  json["svg"] = with.svg_file;
  if (with.module_file == "-") json["text"] = print(partitioned.module);
  return json;
}

}  // namespace driver

Result<ModelPartition> partition_model(const ModelRequest& request,
                                       const PartitionOptions& options) {
  driver::ModelOptions model = driver::options_of(request);
  if (!request.inputs.empty())
    BYOC_TRY_STATUS(driver::set_open_sizes(model, request.inputs).status());
  BYOC_TRY(driver::PartitionedModel partitioned, driver::partition_file(model, options));
  ModelPartition out;
  for (const driver::PlacedRegion& region : partitioned.placement.regions)
    out.regions.push_back({region.plugin.str(), region.function.str(), region.ops, region.flops});
  out.border_tensors = partitioned.placement.borders.tensors;
  out.border_bytes = partitioned.placement.borders.bytes;
  out.json = cli::json_text("partition", true, driver::json_of(partitioned, options));
  out.svg = std::move(partitioned.picture.svg);
  if (!partitioned.inputs.ok())
    out.warning = cat(partitioned.inputs.message(), "; ", partitioned.inputs.help());
  return out;
}

}  // namespace byoc
