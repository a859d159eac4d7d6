// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of each step once caches, pages and threads are warm, as `--profile` reports it.
#include <functional>
#include <memory>
#include <vector>

#include "byoc/runtime/session.h"

namespace byoc::cli {

/// The times of several runs, the middle third of them averaged: single slow runs do not count, and
/// the steps and the rest add up to the whole.
struct SteadyProfile {
  uint32_t runs = 0;    // measured, after a warm-up
  double total_ns = 0;  // of a run
  std::vector<double> steps_ns;
  double outside_ns = 0;             // between the steps: copies, and the team of threads
  std::unique_ptr<Context> context;  // of these runs, with their spans
};

/// Returns the average of the middle third, by total: element k of `totals` belongs to row k of
/// `steps`. There is at least one row.
SteadyProfile middle_of(const std::vector<double>& totals,
                        const std::vector<std::vector<double>>& steps);

/// Runs the session in a new Context: some runs to warm up, then between 5 and 200, for about a
/// second. `first_ns` is the time of an earlier run. Errors: those of a run.
Result<SteadyProfile> profile_steady(const Session& session, std::span<const DLTensor> inputs,
                                     std::span<DLTensor> outputs, double first_ns);

}  // namespace byoc::cli
