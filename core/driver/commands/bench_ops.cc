// SPDX-License-Identifier: Apache-2.0
#include "core/driver/commands/bench_ops.h"

#include <cmath>

#include "core/library/benched.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "core/tools/ops_bench/ops_report.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> out;
  if (list == "-") return out;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) out.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Status check_usage(const ModelOptions& model, const BenchOptions& bench) {
  if (!model.model.empty() || !bench.op.empty())
    return cli::usage_error("--ops measures operators of its table: leave out MODEL and --op");
  if (!bench.versus.empty() || !bench.region.empty())
    return cli::usage_error("--ops has no --vs and no --region: its peer is ONNX Runtime");
  if (!model[option::kShape].empty() || !model[option::kBind].empty() || !bench.attrs.empty() ||
      !bench.weights.empty())
    return cli::usage_error(
        "--ops has the operands of its table: leave out --shape, --bind, --attr and --weight");
  if (bench.rounds == 0 || bench.rounds < -1) return cli::usage_error("--rounds expects 1 or more");
  return {};
}

}  // namespace

void add_ops_options(cli::Command& command, OpsFlags& flags) {
  command.options.push_back({"--ops", "A,B",
                             "operators of ONNX, or all, at sizes of public models, beside ONNX "
                             "Runtime where Python has it; the worst first",
                             &flags.ops});
  command.options.push_back({"--python", "FILE",
                             "with --ops: the Python that has onnxruntime (default python3)",
                             &flags.python});
  command.options.push_back(
      {"--table", "FILE",
       "with --ops: cases in place of the ones in <prefix>/share/byoc/ops/cases.json",
       &flags.table});
}

Status check_no_ops(const OpsFlags& flags) {
  if (flags.python.empty() && flags.table.empty()) return {};
  return cli::usage_error("--python and --table are for --ops");
}

Result<int> run_bench_ops(const OpsFlags& flags, const ModelOptions& model,
                          const BenchOptions& bench, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(check_usage(model, bench));
  OpsBenchOptions options;
  options.table = flags.table;
  if (!flags.python.empty()) options.python = flags.python;
  options.ops = names_of(*flags.ops);
  options.seed = bench.seed;
  options.no_check = bench.no_check;
  BYOC_TRY(options.threads, parse_threads(bench.threads));
  if (bench.rounds > 0) options.rounds = static_cast<uint32_t>(bench.rounds);
  if (!std::isnan(bench.min_time_s)) options.min_time_s = bench.min_time_s;
  options.tolerance = bench.tolerance;
  Progress progress(common);
  Interrupt interrupt;
  interrupt.set_watched(true);
  auto warn = [&](const std::string& text) {
    if (common.verbose) cli::print_warning(text, common);
  };
  BYOC_TRY(const OpsBench benched,
           bench_ops(model, options, warn, [&](std::string_view what, uint64_t done, uint64_t all) {
             progress.show(what, done, all);
             return !interrupt.requested();
           }));
  progress.clear();
  cli::print_text(ops_text(benched, options), common);
  BYOC_TRY_STATUS(cli::print_json(common, "bench-ops", ops_json(benched, options, model)));
  if (!benched.end.ok()) {
    cli::print_error(benched.end, {.color = common.color}, "byoc bench");
    return cli::kInterrupted;
  }
  return benched.is_wrong() ? cli::kFailed : cli::kDone;
}

}  // namespace byoc::driver
