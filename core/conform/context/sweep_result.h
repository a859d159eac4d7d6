// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of the sweep of group 5: every op that the plugin takes, on every sample, in every
// memory arrangement, compared with the reference kernels. One child runs them; after a sample that
// ends it, another child continues.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/conform/conform.h"

namespace byoc::conform {

struct SweepResult {
  std::map<std::string, std::vector<std::string>> findings;  // by the name of the check
  std::map<std::string, std::string> cures;                  // of the first, where it has its own
  std::map<std::string, uint64_t> tried;                     // by the name of the check: its runs
  std::map<std::string, OpCoverage> ops;
  std::map<std::string, uint64_t> ran;  // kernels by the name of their pattern; 0: none was run
  std::string tested;                   // the check that the last function's values decide
  std::string trying;                   // the pattern of the last function, as in `ran`
  uint64_t declined = 0;                // by compile, after judge had accepted
  std::string gave_up;                  // the reason why samples were not tried, or empty

  void add(const std::string& check, std::string finding, std::string cure) {
    if (findings[check].empty()) cures[check] = std::move(cure);
    findings[check].push_back(std::move(finding));
  }
};

}  // namespace byoc::conform
