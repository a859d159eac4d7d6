// SPDX-License-Identifier: Apache-2.0
#pragma once
// Near-linear convex partition of a DAG for any number of backends (partition.md): on plain arrays,
// so that it can be tested and timed alone.
#include <cstdint>
#include <vector>

#include "byoc/base/status.h"

namespace byoc {

/// Nodes 0..n-1 in a topological order: every edge goes from a smaller to a larger number.
struct RegionGraph {
  std::vector<uint32_t> first;       // n + 1: edges into v are [first[v], first[v+1])
  std::vector<uint32_t> source;      // per edge
  std::vector<int64_t> weight;       // per edge: what joining its ends saves (bytes)
  std::vector<uint32_t> tensor;      // per edge: which tensor it is; empty: one per source
  std::vector<uint32_t> color;       // per node: the backend
  std::vector<uint8_t> alone;        // per node: a region of its own, never joined
  std::vector<uint64_t> ops, bytes;  // per node: what it counts against the limits
  uint32_t size() const { return static_cast<uint32_t>(color.size()); }
};

struct ColorLimits {
  uint64_t max_ops = UINT64_MAX, max_bytes = UINT64_MAX;
  bool horizontal = false;  // join all of one label, connected or not
  bool joins = true;        // false: nodes of this color stay single
  bool is_rest = false;     // what no backend takes: no regions, for measures
};

struct RegionOptions {
  int sweeps = 4;
  uint32_t refine_visits = 64;      // 0: neither refinement nor comparison with waves
  std::vector<ColorLimits> colors;  // per color, in order of priority
};

/// Labels that never fall along an edge and rise where the backend changes (steps 1 and 2).
std::vector<int32_t> label_nodes(const RegionGraph& graph, int sweeps);

/// Region of every node (steps 1 to 5): dense numbers in a topological order of the quotient, which
/// is acyclic. Where that has more regions or more border tensors than priority-greedy waves
/// (waves.h), the waves are refined by step 4 instead: never more than they have of either.
/// Deterministic. O((sweeps + colors + 2)(V + E) a(V) + E log E); no recursion.
std::vector<uint32_t> find_regions(const RegionGraph& graph, const RegionOptions& options);

}  // namespace byoc
