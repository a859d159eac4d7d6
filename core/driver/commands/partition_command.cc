// SPDX-License-Identifier: Apache-2.0
// byoc partition: prints the partitioned module and a summary of the ops of each plugin.
#include <map>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "byoc/pass/codegen.h"
#include "byoc/pass/simplify.h"
#include "byoc/text/text.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/model_options.h"
#include "core/tools/show/picture.h"
#include "core/tools/show/placement.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct Options {
  ModelOptions model;
  std::string output, svg;
};

/// The partitioned module, and the metrics of the baseline for the same annotations.
struct Compared {
  IRModule module;
  PartitionMetrics baseline, unconnected;  // unconnected: a whole group is one region
};

Status count_baselines(const IRModule& annotated, const PassContext& context, Compared& out) {
  BYOC_TRY(out.baseline, measure_waves(annotated, context, WaveRegions::kConnected));
  BYOC_TRY(out.unconnected, measure_waves(annotated, context, WaveRegions::kWhole));
  return {};
}

Result<Compared> partition_and_compare(IRModule module, const BuildOptions& options) {
  BYOC_TRY(PassContext context, make_context(module, options));
  Compared out;
  Status counted;
  context.instruments.push_back({[&](const Pass& pass, const IRModule& before) {
                                   if (pass.name != "merge_compiler_regions") return;
                                   counted = count_baselines(before, context, out);
                                 },
                                 nullptr});
  BYOC_TRY(out.module, run_passes(std::move(module), partition_pipeline(context), context));
  BYOC_TRY_STATUS(counted);
  return out;
}

std::string comparison(const PartitionMetrics& ours, const PartitionMetrics& baseline) {
  cli::Table table({"partition", ">regions", ">border tensors", ">size"});
  auto add = [&](const char* name, const PartitionMetrics& count) {
    table.add({name, cat(count.regions), cat(count.tensors), cli::format_mib(count.bytes)});
  };
  add("this one", ours);
  add("priority-greedy waves", baseline);
  return table.text();
}

struct DrawnFile {
  std::string svg, about;  // about: a line about the picture
};

/// Draws the regions, and the functions that the default codegens would get. Where none of them
/// takes all that is left, or sizes are open, ops are drawn in no region.
Result<DrawnFile> draw_module(const IRModule& module, const BuildOptions& build_with,
                              const Options& options) {
  BYOC_TRY(PassContext context, make_context(module, build_with));
  BYOC_TRY(IRModule whole, inline_functions(module, context));
  Result<IRModule> fused = fuse_ops(whole, context);
  std::set<std::string> plugins;  // all of them, so that the colours are those of byoc report
  for (const auto& plugin : build_with.plugins->all()) plugins.insert(plugin->id());
  BYOC_TRY(Picture picture, draw(fused.ok() ? *fused : whole, options.model.model, plugins));
  DrawnFile out{std::move(picture.svg), cat("wrote ", options.svg, ": ", picture.nodes, " nodes")};
  if (picture.is_folded) {
    out.about += cat(", one per region; drawn whole it has ", picture.unfolded_nodes,
                     ", more than the ", kDrawnNodes, " that can be read");
  }
  out.about += "\n";
  return out;
}

Json to_json(const Placement& placement, const Compared& compared, const Options& options) {
  Json json = placement_json(placement);
  json["region_count"] = placement.borders.regions;
  json["baseline"] = {{"name", "priority-greedy waves"},
                      {"region_count", compared.baseline.regions},
                      {"border_tensors", compared.baseline.tensors},
                      {"border_bytes", compared.baseline.bytes},
                      {"unconnected_region_count", compared.unconnected.regions},
                      {"unconnected_border_tensors", compared.unconnected.tensors}};
  json["output"] = options.output;
  json["svg"] = options.svg;
  if (options.output == "-") json["text"] = print(compared.module);
  return json;
}

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  if (options.svg == "-" && (options.output == "-" || common.json == "-"))
    return cli::usage_error("--svg - must be the only output on stdout; give the other a file");
  BYOC_TRY_STATUS(cli::check_ending("--svg", options.svg, "a picture as SVG", " .svg "));
  BYOC_TRY(IRModule model, load_model(options.model));
  Status inputs = check_static_inputs(model);
  BYOC_TRY(BuildOptions build_with, build_options(options.model));
  BYOC_TRY(Compared compared, partition_and_compare(with_names(std::move(model)), build_with));
  Placement placement = placement_of(compared.module);
  std::string text = plugin_table(placement, "(not in a region)") +
                     comparison(placement.borders, compared.baseline) + ends_text(placement);
  if (!options.svg.empty()) {
    BYOC_TRY(DrawnFile drawn, draw_module(compared.module, build_with, options));
    if (options.svg == "-") text = drawn.svg;
    else BYOC_TRY_STATUS(write_file(options.svg, drawn.svg));
    if (options.svg != "-") text += drawn.about;
  }
  if (options.output == "-") text = print(compared.module);
  else if (!options.output.empty()) BYOC_TRY_STATUS(write_module(compared.module, options.output));
  cli::print_text(text, common);
  if (!inputs.ok()) cli::print_warning(cat(inputs.message(), "; ", inputs.help()), common);
  BYOC_TRY_STATUS(cli::print_json(common, "partition", to_json(placement, compared, options)));
  return cli::kDone;
}

}  // namespace

cli::Command partition_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "partition";
  command.about = "cut a model into regions and show the ops of each plugin";
  command.examples = {{"byoc partition net.onnx --compiler onednn", "the summary"},
                      {"byoc partition net.onnx -o parts.ir", "the module as well"},
                      {"byoc partition net.onnx -o -", "the module as text"},
                      {"byoc partition net.onnx --svg net.svg", "a picture, for a browser"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options.push_back(
      {"-o,--output", "FILE", "write the partitioned module; - is stdout", &options->output});
  command.options.push_back(
      {"--svg", "FILE", "draw it, ops coloured by plugin; - is stdout", &options->svg});
  command.notes =
      "A border tensor is a distinct tensor that goes from one region into another, or between a\n"
      "region and an op outside of all regions; inputs and outputs of the model are listed\n"
      "separately. Priority-greedy waves are the partition that ONNX Runtime makes: its execution\n"
      "providers, in order of priority, each take the ops they support among those left.";
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
