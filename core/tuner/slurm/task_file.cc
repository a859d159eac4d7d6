// SPDX-License-Identifier: Apache-2.0
// Tasks as files for other machines.
#include "byoc/base/file.h"
#include "core/tuner/measure/task_folder.h"
#include "core/tuner/slurm/exchange.h"

namespace byoc::tune {
namespace {

std::string space_file(const std::string& folder) { return folder + "/space.json"; }

}  // namespace

Status write_task(const Task& task, const BuildOptions& build, const MeasureOptions& measure,
                  const std::string& folder) {
  BYOC_TRY(driver::ReplayCase replay, case_of(task, build, measure.reference, measure.seed));
  BYOC_TRY_STATUS(driver::write_replay(replay, folder));
  return write_file(space_file(folder), print(task.space) + "\n");
}

Result<Task> read_task(const std::string& folder) {
  BYOC_TRY(driver::ReplayCase replay, driver::read_replay(folder));
  BYOC_TRY(std::string space, read_file(space_file(folder)));
  Task out;
  BYOC_TRY(out.space, parse_space(space));
  out.plugin = replay.plugin;
  out.key = key_of(out.plugin, out.space);
  out.input = {.symbol = replay.symbol,
               .graph_json = std::move(replay.graph_json),
               .constants = std::move(replay.constants),
               .buffers = std::move(replay.buffers),
               .n_in = static_cast<uint32_t>(replay.inputs.size()),
               .n_out = static_cast<uint32_t>(replay.outputs.size())};
  out.symbols = {replay.symbol};
  out.locs = std::move(replay.nodes);
  out.count = 1;
  return out;
}

}  // namespace byoc::tune
