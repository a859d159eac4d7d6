// byoc partition: the partitioned module and a summary of who got what.
#include <map>

#include "byoc/base/json.h"
#include "byoc/ir/text.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/model_options.h"
#include "core/driver/commands/placement.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct Options {
  ModelOptions model;
  std::string output;
};

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(IRModule module, load_model(options.model));
  BYOC_TRY(BuildOptions build_with, build_options(options.model, common));
  BYOC_TRY(module, partition_for(with_names(std::move(module)), build_with));
  Placement placement = placement_of(module);
  if (options.output == "-") cli::print_text(print(module), common);
  else
    cli::print_text(plugin_table(placement, "(not in a region)") + border_text(placement), common);
  if (!options.output.empty() && options.output != "-")
    BYOC_TRY_STATUS(write_module(module, options.output));
  Json json = placement_json(placement);
  json["output"] = options.output;
  if (options.output == "-") json["text"] = print(module);
  BYOC_TRY_STATUS(cli::print_json(common, "partition", json));
  return cli::kDone;
}

}  // namespace

cli::Command partition_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "partition";
  command.about = "cut a model into regions and show who got what";
  command.examples = {{"byoc partition net.onnx --compiler onednn", "the summary"},
                      {"byoc partition net.onnx -o parts.ir", "the module as well"},
                      {"byoc partition net.onnx -o -", "the module as text"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options.push_back(
      {"-o,--output", "FILE", "write the partitioned module; - is stdout", &options->output});
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
