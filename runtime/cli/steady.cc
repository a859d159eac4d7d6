// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/steady.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/clock.h"
#include "runtime/session/repeated_runs.h"

namespace byoc::cli {
namespace {

constexpr double kMeasureNs = 1e9, kWarmUpNs = 2e8;
constexpr uint32_t kFewestRuns = 5, kMostRuns = 200;

/// Returns the times of the last run of each step.
std::vector<double> last_times(const Session& session, const Context& context) {
  std::vector<double> out;
  for (const StepProfile& step : session.profile(context))
    out.push_back(static_cast<double>(step.last_ns));
  return out;
}

}  // namespace

SteadyProfile middle_of(const std::vector<double>& totals,
                        const std::vector<std::vector<double>>& steps) {
  std::vector<size_t> order(totals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return totals[a] < totals[b]; });
  size_t skipped = order.size() / 3, used = order.size() - 2 * skipped;
  SteadyProfile out{.runs = static_cast<uint32_t>(totals.size())};
  out.steps_ns.resize(steps[0].size());
  for (size_t k = skipped; k < skipped + used; ++k) {
    out.total_ns += totals[order[k]] / static_cast<double>(used);
    for (size_t step = 0; step < out.steps_ns.size(); ++step)
      out.steps_ns[step] += steps[order[k]][step] / static_cast<double>(used);
  }
  out.outside_ns = out.total_ns - std::accumulate(out.steps_ns.begin(), out.steps_ns.end(), 0.0);
  return out;
}

Result<SteadyProfile> profile_steady(const Session& session, std::span<const DLTensor> inputs,
                                     std::span<DLTensor> outputs, double first_ns) {
  BYOC_TRY(auto context, session.make_context());
  RepeatedRuns runs;
  const uint64_t warm_up_begin = now_ns();
  do {
    BYOC_TRY_STATUS(runs.run(session, *context, inputs, outputs));
  } while (ns_since(warm_up_begin) + first_ns < kWarmUpNs);
  session.set_profiling(*context, true);
  std::vector<double> totals;
  std::vector<std::vector<double>> steps;
  const uint64_t begin = now_ns();
  while (totals.size() < kFewestRuns ||
         (totals.size() < kMostRuns && ns_since(begin) < kMeasureNs)) {
    const uint64_t run_begin = now_ns();
    BYOC_TRY_STATUS(runs.run(session, *context, inputs, outputs));
    totals.push_back(ns_since(run_begin));
    steps.push_back(last_times(session, *context));
  }
  SteadyProfile out = middle_of(totals, steps);
  out.context = std::move(context);
  return out;
}

}  // namespace byoc::cli
