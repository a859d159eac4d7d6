// SPDX-License-Identifier: Apache-2.0
// Measures on command whether as many threads have a core each, for peers/compare.py: for each line
// on stdin a line of JSON on stdout, with the rate of multiply-adds of one thread and of all,
// and the time of a round trip between two processors.
#include <iostream>

#include "byoc/base/json.h"
#include "core/machine/core_rates.h"
#include "runtime/cli/command.h"

namespace byoc::bench {
namespace {

void answer(const Json& json) { std::cout << json.dump() << std::endl; }

Result<int> serve(uint32_t threads) {
  if (threads < 1) return cli::usage_error("--threads expects 1 or more");
  answer({{"ready", true}});
  for (std::string line; std::getline(std::cin, line);) {
    const machine::CoreRates rates = machine::measure_cores(threads);
    answer({{"one_gflop_per_s", rates.one_gflop_per_s},
            {"all_gflop_per_s", rates.all_gflop_per_s},
            {"speedup", rates.speedup()},
            {"limit", rates.limit()},
            {"round_trip_ns", rates.round_trip_ns}});
  }
  return cli::kDone;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  uint32_t threads = 2;
  byoc::cli::CommonOptions common;
  byoc::cli::Command root{
      .name = "bench_cores",
      .about = "measure once per line on stdin what several cores give at once"};
  root.examples = {{"echo | bench_cores --threads 2", "once"}};
  root.options.push_back({"--threads", "N", "threads at the same time (default 2)", &threads});
  byoc::cli::add_common_options(root, common);
  root.run = [&] { return byoc::bench::serve(threads); };
  return byoc::cli::run_command_line(root, common, argc, argv);
}
