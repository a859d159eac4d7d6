// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/batch/steady_batches.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/base/check.h"
#include "core/measure/statistic.h"

namespace byoc::tune {

Result<double> SteadyBatches::begin(const KeepGoing& keep_going) {
  if (reference_ns_ == 0) {
    BYOC_TRY(reference_ns_, machine_.reference_ns(keep_going));
  }
  return reference_ns_;
}

Status SteadyBatches::measure(std::span<const Trial> trials, const KeepGoing& keep_going,
                              const Each& each) {
  BYOC_TRY(const double before, begin(keep_going));
  std::vector<double> ns(trials.size(), std::numeric_limits<double>::infinity());
  BYOC_TRY_STATUS(machine_.measure(trials, keep_going, [&](const Measured& one) {
    BYOC_CHECK(one.index < ns.size(), "trial ", one.index, " of ", ns.size());
    if (one.error.empty() && !one.samples_ns.empty())
      ns[one.index] = measure::time_of(one.samples_ns);
    each(one, false);
  }));
  BYOC_TRY(reference_ns_, machine_.reference_ns(keep_going));
  drift_ = std::max(reference_ns_ / before, before / reference_ns_) - 1;
  if (drift_ <= kMostDrift) return {};
  std::vector<Trial> again;
  for (size_t k = 0; k < trials.size(); ++k) {
    // Both this time and the best one may be wrong by the drift.
    const double best = machine_.best_ns(trials[k].task);
    if (std::isfinite(ns[k]) && ns[k] <= (1 + 2 * drift_) * best) again.push_back(trials[k]);
  }
  return machine_.measure(again, keep_going, [&](const Measured& one) {
    if (one.error.empty()) each(one, true);
  });
}

}  // namespace byoc::tune
