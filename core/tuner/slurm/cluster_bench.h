// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the points of a sitting on machines of a cluster.
#include "core/tuner/batch/bench.h"
#include "core/tuner/batch/record_facts.h"
#include "core/tuner/slurm/exchange.h"
#include "core/tuner/slurm/scheduler.h"

namespace byoc::tune {

/// Returns a bench whose workers come from the scheduler. Batches of workers that end, or are
/// silent, go to others, and new workers are submitted for them. `folder` exists and is empty; it
/// is deleted with the bench. `tasks` and `build` must outlive it. Errors: those of writing the
/// folder and of submitting workers. Errors of measuring: slug "slurm" when workers keep ending.
Result<Bench> cluster_bench(const std::vector<Task>& tasks, const BuildOptions& build,
                            const MeasureOptions& measure, const SlurmOptions& options,
                            const std::string& folder, RecordFacts facts, Scheduler scheduler);
/// Does the same with Slurm, in a new folder beside the log, which all machines have to see.
Result<Bench> slurm_bench(const std::vector<Task>& tasks, const BuildOptions& build,
                          const MeasureOptions& measure, const SlurmOptions& options,
                          const std::string& log, RecordFacts facts);

}  // namespace byoc::tune
