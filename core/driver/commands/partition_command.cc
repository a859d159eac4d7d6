// SPDX-License-Identifier: Apache-2.0
// byoc partition: prints the partitioned module and a summary of the ops of each plugin.
#include "byoc/base/json.h"
#include "byoc/text/text.h"
#include "core/driver/commands/commands.h"
#include "core/library/partitioned.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct PartitionFlags {
  ModelOptions model;
  PartitionOptions partition;
};

std::string comparison(const PartitionMetrics& ours, const PartitionMetrics& baseline) {
  cli::Table table({"partition", ">regions", ">border tensors", ">size"});
  auto add = [&](const char* name, const PartitionMetrics& count) {
    table.add({name, cat(count.regions), cat(count.tensors), cli::format_mib(count.bytes)});
  };
  add("this one", ours);
  add("priority-greedy waves", baseline);
  return table.text();
}

std::string about(const Picture& picture, const std::string& file) {
  std::string out = cat("wrote ", file, ": ", picture.nodes, " nodes");
  if (picture.is_folded) {
    out += cat(", one per region; drawn whole it has ", picture.unfolded_nodes, ", more than the ",
               kDrawnNodes, " that can be read");
  }
  return out + "\n";
}

/// Returns the module, the picture, or the summary: what is not written to a file.
std::string text_of(const PartitionedModel& partitioned, const PartitionOptions& with) {
  if (with.module_file == "-") return print(partitioned.module);
  if (with.svg_file == "-") return partitioned.picture.svg;
  const Placement& placement = partitioned.placement;
  return cat(plugin_table(placement, "(not in a region)"),
             comparison(placement.borders, partitioned.baseline), ends_text(placement),
             with.svg_file.empty() ? "" : about(partitioned.picture, with.svg_file));
}

Result<int> run_partition(const PartitionFlags& options, const cli::CommonOptions& common) {
  const PartitionOptions& with = options.partition;
  if (with.svg_file == "-" && (with.module_file == "-" || common.json == "-"))
    return cli::usage_error("--svg - must be the only output on stdout; give the other a file");
  BYOC_TRY(PartitionedModel partitioned, partition_file(options.model, with));
  cli::print_text(text_of(partitioned, with), common);
  const Status& inputs = partitioned.inputs;
  if (!inputs.ok()) cli::print_warning(cat(inputs.message(), "; ", inputs.help()), common);
  BYOC_TRY_STATUS(cli::print_json(common, "partition", json_of(partitioned, with)));
  return cli::kDone;
}

}  // namespace

cli::Command partition_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<PartitionFlags>();
  cli::Command command;
  command.name = "partition";
  command.about = "cut a model into regions and show the ops of each plugin";
  command.examples = {{"byoc partition net.onnx --compiler onednn", "the summary"},
                      {"byoc partition net.onnx -o parts.ir", "the module as well"},
                      {"byoc partition net.onnx -o -", "the module as text"},
                      {"byoc partition net.onnx --svg net.svg", "a picture, for a browser"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options.push_back({"-o,--output", "FILE", "write the partitioned module; - is stdout",
                             &options->partition.module_file});
  command.options.push_back({"--svg", "FILE", "draw it, ops coloured by plugin; - is stdout",
                             &options->partition.svg_file});
  command.notes =
      "A border tensor is a distinct tensor that goes from one region into another, or between a\n"
      "region and an op outside of all regions; inputs and outputs of the model are listed\n"
      "separately. Priority-greedy waves are the partition that ONNX Runtime makes: its execution\n"
      "providers, in order of priority, each take the ops they support among those left.";
  command.run = [options, &common] { return run_partition(*options, common); };
  return command;
}

}  // namespace byoc::driver
