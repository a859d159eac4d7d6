// SPDX-License-Identifier: Apache-2.0
// byoc bench: times a model, a region, an op, or two configurations in turns, after comparing the
// outputs with a reference's.
#include "byoc/base/json.h"
#include "core/driver/commands/bench_ops.h"
#include "core/driver/commands/commands.h"
#include "core/library/benched.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/tuning.h"

namespace byoc::driver {
namespace {

struct BenchFlags {
  ModelOptions model;
  std::vector<std::string> inputs;
  BenchOptions bench{.threads = "1"};
  OpsFlags ops;
};

std::string mismatch_text(const BenchReport& report) {
  std::string text;
  for (const Benched& benched : report.all) {
    for (const ComparedValue& value : benched.outputs) {
      text += cat(value.difference.is_equal ? "ok   " : "FAIL ", "\"", value.name, "\" ",
                  value_text(value), ", --threads ", benched.threads, "\n");
    }
  }
  return text;
}

/// Returns the measurements; after Ctrl-C those that there are.
std::string benched_text(const BenchedModel& benched, const BenchFlags& options, bool all_regions) {
  if (benched.is_wrong()) return mismatch_text(benched.report);
  if (!benched.end.ok() && !benched.has_samples()) return "";
  return cat(tuning_text(options.model), bench_text(benched.report, all_regions),
             text_of(benched.observed));
}

Result<int> run_bench(const BenchFlags& options, const cli::CommonOptions& common) {
  if (options.ops.ops) return run_bench_ops(options.ops, options.model, options.bench, common);
  BYOC_TRY_STATUS(check_no_ops(options.ops));
  Progress progress(common);
  Interrupt interrupt;
  BenchHooks hooks;
  hooks.warn = warn_to(common);
  hooks.watch = [&](std::string_view what, uint64_t done, uint64_t total) {
    progress.show(what, done, total);
    return !interrupt.requested();
  };
  hooks.measuring = [&] { interrupt.set_watched(true); };
  BYOC_TRY(const BenchedModel benched,
           bench_file(options.model, options.inputs, options.bench, hooks));
  progress.clear();
  cli::print_text(benched_text(benched, options, common.verbose), common);
  BYOC_TRY_STATUS(Status(benched.end));
  BYOC_TRY_STATUS(cli::print_json(common, "bench", json_of(benched, options.model)));
  return cli::kDone;
}

void add_bench_options(cli::Command& command, BenchFlags& options) {
  for (cli::Option& option : command.options) {
    if (option.names == "MODEL") option.required = false;
    if (option.names != "--threads") continue;
    option = {"--threads", "N,M", "thread counts of runs, measured in turns (default 1)",
              &options.bench.threads};
  }
  auto& all = command.options;
  BenchOptions& bench = options.bench;
  all.push_back({"--op", "OP",
                 "a single op as the model; --shape gives its operands, f32 if not "
                 "as x=i64[8]",
                 &bench.op});
  all.push_back({"--attr", "NAME=VALUE", "an attribute of --op, pads=[1,1,1,1]", &bench.attrs});
  all.push_back(
      {"--weight", "NAME", "this operand of --op is a constant, of random values", &bench.weights});
  add_ops_options(command, options.ops);
  all.push_back({"--vs", "CONFIG",
                 "a second configuration, \"compiler=llvm level=1\", in turns with "
                 "the first, and the first again as a control",
                 &bench.versus});
  all.push_back(
      {"--sizes", "N=1,2,4",
       "numbers of an open size, each measured by the same program: times, and N per second",
       &bench.sizes});
  all.push_back({"--region", "R", "one region alone, by its symbol or number", &bench.region});
  all.push_back(
      {"--input", "NAME=VALUE", "as in byoc run; those not given are random", &options.inputs});
  all.push_back({"--seed", "N", "of the random inputs (default 0)", &bench.seed});
  all.push_back(
      {"--warmup", "S", "seconds of runs before measuring (default 0.2)", &bench.warmup_s});
  all.push_back(
      {"--min-time", "S",
       "seconds of measured runs of each configuration (default 1, with --ops 0.2, with --vs 5 "
       "to 20: until the interval is within 1 %)",
       &bench.min_time_s});
  all.push_back({"--rounds", "N",
                 "turns of each configuration (default 5); with --vs blocks of two (default 20 to "
                 "80)",
                 &bench.rounds});
  all.push_back({"--observations", "FOLDER",
                 "what all commands have measured here, or none (default: in the cache folder)",
                 &bench.observations});
  all.push_back(
      {"--no-check", "", "do not compare the outputs with the reference's first", &bench.no_check});
  all.push_back({"--no-peaks", "", "leave out the shares of the machine's peaks", &bench.no_peaks});
  all.push_back({"--tolerance", "X", kToleranceHelp, &bench.tolerance});
  all.push_back({"--no-native", "", "refuse native code in an artifact", &bench.no_native});
}

}  // namespace

cli::Command bench_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<BenchFlags>();
  cli::Command command;
  command.name = "bench";
  command.about = "time a model or one region, after comparing its outputs with the reference's";
  command.examples = {
      {"byoc bench net.onnx --compiler onednn --threads 1,2", "latency, spread, GFLOP/s, regions"},
      {"byoc bench net.onnx --region onednn_main_0", "one region on the values it gets in net"},
      {"byoc bench net.byoc --input x=a.npy --json=bench.json",
       "raw samples as well, in a file that Google Benchmark's compare.py reads"},
      {"byoc bench net.onnx --compiler onednn --vs compiler=llvm", "a ratio with its interval"},
      {"byoc bench --op conv2d --shape x=1x64x56x56 --shape weight=64x64x3x3", "one op"},
      {"byoc bench --ops=Conv,MatMul --threads 1,2", "operators of ONNX beside ONNX Runtime"},
      {"byoc bench regions/onednn_main_0 --compiler llvm", "a region that byoc dump wrote"}};
  add_model_options(command, options->model,
                    "an .onnx, .ir or .byoc file, or a folder of byoc dump");
  add_tuning_options(command, options->model);
  add_bench_options(command, *options);
  command.notes =
      "Configurations take turns, so that a slow minute of the machine falls on all of them. A\n"
      "sample is one run, or the mean of several when a run is short. Times of regions come from\n"
      "runs of their own, with a clock around every region. Ctrl-C prints what was measured.\n"
      "Bytes are the least that a region moves: its inputs, outputs and constants once. Peaks are\n"
      "those of the machine with as many threads, as byoc doctor prints them.";
  command.run = [options, &common] { return run_bench(*options, common); };
  return command;
}

}  // namespace byoc::driver
