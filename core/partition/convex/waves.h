// SPDX-License-Identifier: Apache-2.0
#pragma once
// Priority-greedy waves: the baseline that partitions are measured against, and what find_regions
// falls back on where it is better.
//
// Backends are asked in order of priority. Each one takes, of what is left, everything it supports,
// in groups that are formed as ONNX Runtime forms an execution provider's subgraphs
// (onnxruntime/core/providers/partitioning_utils.cc): nodes are visited in waves of Kahn's
// algorithm, a supported node joins the open group, an unsupported one that reads from the group
// waits, and when only such nodes are left the group is closed and the next one begins. Groups are
// contracted before the next backend is asked. Here, unless a backend is HORIZONTAL, each
// connected piece of a group is a region.
#include "core/partition/convex/region_order.h"

namespace byoc {

/// Joins what stands in one group, color by color: a smaller number is a higher priority.
/// The quotient stays acyclic: nothing outside a group that depends on it is visited before it is
/// closed, so groups and the nodes between them stand in the order of the visits; and pieces of a
/// group have no edges between them. O(colors with something to join * (V + E) a(V)).
void join_waves(const RegionGraph& graph, const Successors& out, const RegionOptions& options,
                NodeSets& regions);

/// The baseline: regions of the waves alone, cut at the limits; numbered as find_regions does.
std::vector<uint32_t> find_wave_regions(const RegionGraph& graph, const RegionOptions& options);

/// The same with every backend HORIZONTAL: a region is a whole group, in pieces or not.
std::vector<uint32_t> find_whole_waves(const RegionGraph& graph, const RegionOptions& options);

/// What a partition costs at its borders.
struct PartitionSize {
  uint64_t regions = 0;         // of the colors that are not the rest, and nodes alone
  uint64_t border_tensors = 0;  // distinct tensors read outside the region that makes them
};
/// All nodes of colors marked as the rest count as one place and no region: a tensor that goes from
/// one of them to another crosses no border.
PartitionSize measure(const RegionGraph& graph, const RegionOptions& options,
                      const std::vector<uint32_t>& region);

}  // namespace byoc
