// SPDX-License-Identifier: Apache-2.0
#include "core/process/machine_load.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "byoc/base/status.h"

namespace byoc::process {
namespace {

// Daemons of a quiet machine use a hundredth of one processor; a build or another measurement uses
// at least one. Memory and clocks are shared, so that this also holds where processors are left.
constexpr double kMostOthers = 0.1, kMostWaited = 0.02;

double seconds(clockid_t clock) {
  timespec now{};
  return ::clock_gettime(clock, &now) == 0
             ? static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)
             : 0;
}

/// Reads "cpu user nice system idle iowait irq softirq steal ..." in ticks, and counts the lines of
/// the single processors. Source: proc(5), /proc/stat.
void read_machine(const std::string& path, ProcessorTimes& out) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    if (!line.starts_with("cpu ")) {
      ++out.processors;
      continue;
    }
    std::istringstream words(line.substr(4));
    double ticks[8] = {};
    for (double& value : ticks) words >> value;
    const double busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
    out.machine_s = busy / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

}  // namespace

ProcessorTimes processor_times(const std::string& proc) {
  ProcessorTimes out;
  out.wall_s = seconds(CLOCK_MONOTONIC);
  out.own_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
  read_machine(proc + "/stat", out);
  double ran_ns = 0, waited_ns = 0;  // Source: Documentation/scheduler/sched-stats.rst
  if (std::ifstream file(proc + "/self/schedstat"); file >> ran_ns >> waited_ns)
    out.waited_s = 1e-9 * waited_ns;
  return out;
}

OtherLoad load_between(const ProcessorTimes& before, const ProcessorTimes& after) {
  OtherLoad out{.processors = after.processors};
  const double wall_s = after.wall_s - before.wall_s;
  if (wall_s <= 0) return out;
  const double machine_s = after.machine_s - before.machine_s, own_s = after.own_s - before.own_s;
  if (after.machine_s > 0) out.others = std::max(0.0, (machine_s - own_s) / wall_s);
  out.waited = std::clamp((after.waited_s - before.waited_s) / wall_s, 0.0, 1.0);
  return out;
}

bool OtherLoad::is_busy() const {
  return waited > kMostWaited || others > kMostOthers * static_cast<double>(processors);
}

std::string OtherLoad::text() const {
  char used[32];
  std::snprintf(used, sizeof used, "%.1f", others);
  return cat("other work used ", used, " of ", processors, " processors, and this process waited ",
             percent(waited), " of the time");
}

}  // namespace byoc::process
