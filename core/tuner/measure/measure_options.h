// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace byoc::tune {

/// The way in which points are measured.
struct MeasureOptions {
  std::string program;                    ///< the byoc command, which has the workers
  std::vector<std::string> plugin_flags;  ///< --plugin and --plugin-option of the workers
  std::string reference;                  ///< the plugin that computes the right outputs
  size_t builders = 1;                    ///< processes that compile at the same time
  std::chrono::milliseconds build_limit{10'000}, run_limit{1000}, reference_limit{300'000};
  uint64_t seed = 0;          ///< of the inputs
  bool shows_errors = false;  ///< prints of plugins go to standard error
};

}  // namespace byoc::tune
