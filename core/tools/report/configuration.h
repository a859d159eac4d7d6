// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles, explains and times the configurations of one model for a report.
#include <nlohmann/json_fwd.hpp>

#include "core/measure/session/timed_session.h"
#include "core/tools/measure/subject.h"

namespace byoc::driver {

struct ReportPlan {
  measure::TimingPlan timing;
  double tolerance = -1;
  bool no_run = false;  // nothing is compiled for runs, run or measured
  Warn warn;            // may be empty
};

/// Returns the data of the page: "model", "machine", "plugins", "interrupted" (the user stopped the
/// work, and configurations may lack parts) and "configurations", the one of `request` and then
/// `others` (other_request in core/tools/measure/subject.h). Each has "explain", the fields of
/// byoc.explain/1; "graph" (graph_json.h); and, when the model compiles and `no_run` is not set,
/// "bench", the fields of byoc.bench/1, "trace", the last profiled run as `byoc run
/// --trace` writes it, "memory" and "steps" (memory_json.h); these are null otherwise. "changes"
/// has the fields of byoc.explain-diff/1 against the first configuration, null in that one. The
/// configurations take turns while they are timed. Errors: those of reading the model, of the
/// plugins, of the inputs and of running; slug "interrupted" when nothing was explained yet.
Result<nlohmann::ordered_json> report_json(const SubjectRequest& request,
                                           const std::vector<std::string>& others,
                                           const ReportPlan& plan, const measure::Watch& watch);

}  // namespace byoc::driver
