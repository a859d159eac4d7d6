// SPDX-License-Identifier: Apache-2.0
#pragma once
// The neighbours of a node in a problem (byoc/extend/placement_problem.h), and improving a choice.
#include "byoc/extend/placement_problem.h"

namespace byoc::placement {

/// The edges of every node, as compressed rows.
struct Incidence {
  explicit Incidence(const Problem& problem);
  std::span<const uint32_t> of(uint32_t v) const {
    return {edge.data() + first[v], first[v + 1] - first[v]};
  }
  std::vector<uint32_t> first, edge;
};

/// Changes single nodes to their best state while that lowers the cost, at most `sweeps` times over
/// all nodes. Cost of a sweep: O(entries of all matrices).
void improve(const Problem& problem, uint32_t sweeps, std::vector<uint8_t>& state);

}  // namespace byoc::placement
