// SPDX-License-Identifier: Apache-2.0
#pragma once
// Branch and bound for small problems that no exact reduction makes smaller.
#include "core/placement/solver/problem.h"

namespace byoc::placement {

inline constexpr uint32_t kMostSearched = 40;  // nodes

struct Searched {
  std::vector<uint8_t> state;
  bool is_exact = false;  // no choice of states costs less
  uint64_t visits = 0;    // choices of single states
};

/// Searches all choices of states but those that a lower bound rules out. Stops after `most_visits`
/// choices of single states with the best solution so far. Deterministic: of equal solutions the
/// one found first.
Searched search_core(const Problem& problem, uint64_t most_visits);

}  // namespace byoc::placement
