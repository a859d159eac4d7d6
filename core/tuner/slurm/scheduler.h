// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of a cluster's scheduler that the tuner needs.
#include <functional>
#include <map>
#include <string>

#include "byoc/base/status.h"
#include "core/tuner/slurm/slurm_options.h"

namespace byoc::tune {

/// The functions of a scheduler. Workers have numbers, which are never used twice.
struct Scheduler {
  /// Submits `count` workers, numbered from `first` on. `excluded`: machines that are not to be
  /// used. Errors: the scheduler refuses them.
  std::function<Status(size_t first, size_t count, const std::vector<std::string>& excluded)>
      submit;
  /// Returns the workers that wait or run, with their state in the scheduler's words. Errors: it
  /// cannot be reached.
  std::function<Result<std::map<size_t, std::string>>()> states;
  std::function<void(size_t worker)> cancel;  ///< ends one; without effect when it has ended
};

/// Returns the functions of Slurm. `command` runs a worker whose number is in the variable
/// SLURM_ARRAY_TASK_ID of the shell; `folder` gets the script and what workers print. The jobs
/// are cancelled when the last copy is destroyed.
Scheduler slurm_scheduler(const SlurmOptions& options, const std::string& folder,
                          const std::string& command);

/// Parses lines "INDEX|STATE|REASON" of squeue. Workers that have ended are left out, and those
/// that Slurm is ending.
std::map<size_t, std::string> parse_squeue(std::string_view text);
/// Returns a word of a shell command that has exactly this text.
std::string shell_word(std::string_view text);

}  // namespace byoc::tune
