// SPDX-License-Identifier: Apache-2.0
// byoc calibrate: measures this machine for the estimates of placement.
#include <cmath>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/placement/plan.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tools/place/calibrate.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

std::string rounded(double value) { return cat(std::round(value * 10) / 10); }

std::string text_of(const placement::Machine& machine) {
  std::string out =
      cat(machine.name, "\n", rounded(machine.gflop_per_s), " GFLOP/s, caches ",
          rounded(machine.cache_gb_per_s), " GB/s, memory ", rounded(machine.memory_gb_per_s),
          " GB/s, changes of layout ", rounded(machine.reorder_gb_per_s), " GB/s, a call ",
          cli::format_time(machine.call_ns), "\n");
  for (const placement::Link& link : machine.links) {
    out += cat("device ", link.device, " of ", link.plugin, ": copies to it ",
               cli::format_time(link.in.latency_ns), " and ", rounded(link.in.gb_per_s),
               " GB/s, from it ", cli::format_time(link.out.latency_ns), " and ",
               rounded(link.out.gb_per_s), " GB/s\n");
  }
  cli::Table table({"plugin", "class", ">flops", ">bytes", ">time", ">of the roofline"});
  for (const placement::Sample& sample : machine.samples) {
    if (sample.ns <= 0) continue;  // the plugin runs none of the ops
    const double part = 100 * machine.roofline_ns(sample.work) / sample.ns;
    table.add({sample.plugin, std::string(placement::class_name(sample.work.op_class)),
               cat(sample.work.flops), cat(sample.work.bytes), cli::format_time(sample.ns),
               cat(std::round(part), " %")});
  }
  return out + table.text();
}

Result<int> run_calibrate(const ModelOptions& options, const cli::CommonOptions& common) {
  BYOC_TRY(BuildOptions build, build_options(options));
  BYOC_TRY(PassContext context, make_context(IRModule(), build));
  const std::string folder = placement::cost_folder_of(context);
  if (folder.empty())
    return cli::usage_error("there is no folder for costs: set HOME or XDG_CACHE_HOME");
  Progress progress(common);
  Result<placement::Machine> machine = calibrate(
      build, ProbePlan().timeout_s, [&](std::string_view what, uint64_t done, uint64_t total) {
        progress.show(what, done, total);
      });
  progress.clear();
  BYOC_TRY_STATUS(machine.status());
  BYOC_TRY_STATUS(placement::write_calibration(*machine, folder));
  const std::string path = placement::calibration_path(folder, machine->threads);
  cli::print_text(cat(text_of(*machine), "wrote ", path, "\n"), common);
  Json json = placement::to_json(*machine);
  json["path"] = path;
  BYOC_TRY_STATUS(cli::print_json(common, "calibrate", json));
  return cli::kDone;
}

}  // namespace

cli::Command calibrate_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<ModelOptions>();
  cli::Command command;
  command.name = "calibrate";
  command.about = "measure this machine and some ops of each plugin, for --compiler auto";
  command.examples = {{"byoc calibrate", "some seconds; byoc place does it by itself once"},
                      {"byoc calibrate --threads 2", "for programs that run with two threads"}};
  add_options_of(command, *options, {OptionPart::kBuild, OptionPart::kPlugins});
  command.run = [options, &common] { return run_calibrate(*options, common); };
  return command;
}

}  // namespace byoc::driver
