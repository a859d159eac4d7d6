// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "byoc/base/json.h"
#include "core/process/child.h"
#include "core/tools/probe/batch.h"

namespace byoc::driver {
namespace {

constexpr size_t kBatch = 48;  // probes of one child

using Probes = std::span<const Probe>;

/// Returns the time of a child: by the number of its probes, and at least a sixth of a batch's.
uint32_t timeout_of(size_t probes, const ProbePlan& plan) {
  return std::max({1u, (plan.timeout_s + 5) / 6,
                   static_cast<uint32_t>(uint64_t{plan.timeout_s} * probes / kBatch)});
}

void measure_range(Probes probes, std::span<ProbeResult> results, const BuildOptions& build,
                   const ProbePlan& plan, uint32_t& hung) {
  if (hung >= kMostHung) {
    for (ProbeResult& result : results)
      result.error = cat("not measured: ", probes[0].plugin, " hung on ", hung, " others");
    return;
  }
  process::ChildLimits limits;
  limits.timeout_s = timeout_of(probes.size(), plan);
  const process::ChildResult child =
      process::run_in_child(limits, [&] { return run_batch(probes, build, plan); });
  Result<Json> json =
      child.finished ? parse_json(child.result) : Result<Json>(invalid(child.defect));
  if (json.ok() && json->is_array() && json->size() == probes.size()) {
    for (size_t k = 0; k < probes.size(); ++k)
      results[k] = {(*json)[k].at("ns"), (*json)[k].at("reorder_ns"), (*json)[k].at("error"),
                    (*json)[k].at("samples_ns")};
    return;
  }
  if (probes.size() == 1) {
    results[0].error = json.ok() && json->is_object() ? json->value("failed", "failed")
                       : child.finished               ? "the child sent no result"
                                                      : child.defect;
    if (child.end.kind == process::End::kTimedOut) ++hung;
    return;
  }
  const size_t half = probes.size() / 2;
  measure_range(probes.first(half), results.first(half), build, plan, hung);
  measure_range(probes.subspan(half), results.subspan(half), build, plan, hung);
}

}  // namespace

std::vector<ProbeResult> measure_probes(const std::vector<Probe>& probes, const BuildOptions& build,
                                        const ProbePlan& plan,
                                        const std::function<void(size_t)>& progress) {
  std::vector<ProbeResult> results(probes.size());
  uint32_t hung = 0;
  for (size_t begin = 0; begin < probes.size();) {
    size_t n = 1;  // probes of one batch are compiled in one way
    while (n < kBatch && begin + n < probes.size() &&
           probes[begin + n].is_rest == probes[begin].is_rest)
      ++n;
    measure_range(Probes(probes).subspan(begin, n), std::span(results).subspan(begin, n), build,
                  plan, hung);
    begin += n;
    if (progress) progress(begin);
  }
  return results;
}

}  // namespace byoc::driver
