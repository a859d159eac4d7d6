// SPDX-License-Identifier: Apache-2.0
#pragma once
// Near-linear convex partition of a DAG for any number of backends, on plain arrays, so that it can
// be tested and timed alone. docs/partitioning.md, "How regions are found", numbers the steps.
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
  bool horizontal = false;  // join all nodes of one label, connected or not
  bool joins = true;        // false: nodes of this color stay single
  bool is_rest = false;     // nodes that no backend takes; measures count no regions for them
};

struct RegionOptions {
  int sweeps = 4;
  uint32_t refine_visits = 64;      // 0: neither refinement nor comparison with waves
  std::vector<ColorLimits> colors;  // per color, in order of priority
};

/// Returns labels that never fall along an edge and rise where the backend changes (steps 1 and 2).
std::vector<int32_t> label_nodes(const RegionGraph& graph, int sweeps);

/// Returns the region of every node (steps 1 to 5): dense numbers in a topological order of the
/// quotient, which is acyclic. When priority-greedy waves (waves.h) have fewer regions or fewer
/// border tensors, the result is the waves, refined by step 4, which never adds to either.
/// Deterministic, without recursion.
/// Cost: O((sweeps + colors + 2)(V + E) a(V) + E log E), where a is the inverse Ackermann function.
std::vector<uint32_t> find_regions(const RegionGraph& graph, const RegionOptions& options);

}  // namespace byoc
