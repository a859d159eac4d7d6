// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace byoc::tune {

/// The use of a cluster.
struct SlurmOptions {
  std::string partition;     ///< "": the default one
  size_t workers = 2;        ///< machines
  bool builds_here = false;  ///< points are compiled on the tuner's machine, else where they run
  std::vector<std::string> sbatch_options;         ///< further arguments of sbatch
  std::chrono::milliseconds state_interval{2000};  ///< between two calls of squeue
  /// A machine is left out when the time of its reference loop changes by more than this part
  /// during each of some batches in a row.
  double most_drift = 0.03;
  /// A worker that showed no sign of life for this time is lost.
  std::chrono::milliseconds lost_after{60'000};
};

}  // namespace byoc::tune
