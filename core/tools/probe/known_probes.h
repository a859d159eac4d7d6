// SPDX-License-Identifier: Apache-2.0
#pragma once
// Probes as tasks of the tuner, so that both use each other's observations.
#include "core/measure/store/store.h"
#include "core/tools/probe/probe.h"

namespace byoc::driver {

/// The task of a probe at the point that the plugin compiles by itself; "" for a probe that is
/// several functions, or one without choices.
struct ProbeTask {
  std::string text, point;
  bool is_one() const { return !text.empty(); }
};

/// Returns the tasks of probes of one plugin, in their order. The plugin is called in a child
/// process: where that fails, no probe has a task.
std::vector<ProbeTask> tasks_of(const std::vector<Probe>& probes, const BuildOptions& build,
                                const ProbePlan& plan);

/// Returns the observation of the task as one of a candidate whose key is `candidate`; nothing when
/// the store has none.
std::optional<measure::Observation> find_task(const measure::Store& store, measure::Key candidate,
                                              const ProbeTask& task);
/// Puts the time of a measured probe into the store, as a candidate and as a task.
void put_probe(measure::Store& store, const measure::Key& candidate, const ProbeTask& task,
               const ProbeResult& result);

}  // namespace byoc::driver
