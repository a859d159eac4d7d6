// SPDX-License-Identifier: Apache-2.0
// The work of `byoc place` before its search: the folder, the calibration, the module.
#include <algorithm>

#include "byoc/pass/passes.h"
#include "core/tools/place/calibrate.h"
#include "core/tools/place/search.h"
#include "runtime/cli/command.h"

namespace byoc::driver {

using namespace placement;

Result<IRModule> before_placement(IRModule module, const PassContext& context) {
  std::vector<Pass> passes = partition_pipeline(context);
  auto end = std::ranges::find(passes, "place_by_cost", &Pass::name);
  passes.erase(end, passes.end());
  return run_passes(std::move(module), passes, context);
}

namespace {

// Returns whether the machine was calibrated with all plugins as they are now.
bool has_all_samples(const Machine& machine, const BuildOptions& build) {
  return std::ranges::all_of(calibrated_plugins(build), [&](const Plugin* plugin) {
    return machine.has_samples(plugin->id(), version_and_build(*plugin));
  });
}

}  // namespace

Status prepare_place(const IRModule& module, PlaceRequest& request) {
  BYOC_TRY(PassContext context, make_context(module, request.build));
  request.folder = cost_folder_of(context);
  if (request.folder.empty())
    return cli::usage_error("there is no folder for costs: set HOME or XDG_CACHE_HOME");
  Result<Machine> known = read_calibration(request.folder, request.build.threads);
  if (!request.measures || (known.ok() && has_all_samples(*known, request.build))) return {};
  auto progress = [&](std::string_view what, uint64_t done, uint64_t total) {
    if (request.progress) request.progress(what, done, total);
  };
  BYOC_TRY(Machine machine, calibrate(request.build, request.probes.timeout_s, progress));
  return write_calibration(machine, request.folder);
}

size_t best_of(const PlaceOutcome& outcome, Entrant::Kind kind) {
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < outcome.results.size(); ++k) {
    if (outcome.entrants[k].kind != kind || !outcome.results[k].error.empty()) continue;
    if (best == SIZE_MAX || outcome.results[k].ns < outcome.results[best].ns) best = k;
  }
  return best;
}

}  // namespace byoc::driver
