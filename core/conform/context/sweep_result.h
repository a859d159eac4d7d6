// SPDX-License-Identifier: Apache-2.0
#pragma once
// Group 5: every op that the plugin takes, on every sample, in memory of every arrangement, against
// the reference kernels. One child runs them; after a sample that ends it, another one goes on.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/conform/conform.h"

namespace byoc::conform {

struct SweepResult {
  std::map<std::string, std::vector<std::string>> findings;  // by the name of the check
  std::map<std::string, uint64_t> tried;                     // likewise: runs that looked for it
  std::map<std::string, OpCoverage> ops;
  uint64_t declined = 0;  // by compile, after judge had said yes
  std::string gave_up;    // why samples remain untried, or empty
};

}  // namespace byoc::conform
