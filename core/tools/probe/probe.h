// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures candidates, each as a program of its own step, in child processes.
#include "byoc/compile.h"
#include "core/placement/place.h"

namespace byoc::driver {

/// A candidate of one plugin, taken out of its function.
struct Probe {
  std::string plugin;  // id
  IRModule module;     // its composite, if it is one, and the constants
  Function body;       // parameters, constants and the op
  placement::Work work;
  bool is_rest = false;  // the default codegen gets the op as it gets ops that no plugin took
};

/// Returns the candidate as a probe. `module` is left as it was.
Probe make_probe(IRModule& module, Symbol function, const placement::Candidates& candidates,
                 const placement::Candidate& candidate);

struct ProbeResult {
  double ns = 0;          // of a run, by measure::time_of
  double reorder_ns = 0;  // of changes of layout, which are not in `ns`: borders pay for them
  std::string error;      // "": measured
  std::vector<double> samples_ns;  // of a probe that is one step
};

struct ProbePlan {
  double min_time_s = 0.02;  // of one step; a longer run is timed once
  bool check = true;         // compare results with the reference plugin's, where that is quick
  uint32_t timeout_s = 60;   // of a child that measures kBatch probes, without progress
};

/// A plugin that hung on so many probes is not measured any more.
inline constexpr uint32_t kMostHung = 2;

/// Measures all probes of one plugin, in children of some probes each. When a child fails, its
/// probes are measured in two halves, so that the fault of one does not hide the times of others.
/// Less probes have less time. After kMostHung probes that hung, the error of the others is that.
/// `progress` is called with the number of probes that are done.
std::vector<ProbeResult> measure_probes(const std::vector<Probe>& probes, const BuildOptions& build,
                                        const ProbePlan& plan,
                                        const std::function<void(size_t)>& progress);

}  // namespace byoc::driver
