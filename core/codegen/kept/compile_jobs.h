// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "core/codegen/kept/kept_compiles.h"

namespace byoc {

/// A call of a plugin's compile.
struct CompileJob {
  const Plugin* plugin = nullptr;
  std::vector<CompileFunction> inputs;  // one, when compiles_singly(*plugin)
  std::optional<CompileResult> result;  // absent: not compiled yet
};

/// Returns whether each function is to be a call of its own: it is kept by itself, or calls of the
/// plugin overlap.
bool compiles_singly(const Plugin& plugin);

/// Compiles the functions of one job, unless they are kept.
CompileResult compile_one(const CompileJob& job, const KeptCompiles& kept,
                          const CompileOptions& options);

/// Sets the results of jobs. Calls for one plugin follow each other, unless it has parallel
/// compiles; those for several plugins overlap, and at most as many calls as there are cores. A job
/// after one that failed may stay without a result.
void run_jobs(std::span<CompileJob* const> jobs, const KeptCompiles& kept,
              const CompileOptions& options);

}  // namespace byoc
