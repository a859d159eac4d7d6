// SPDX-License-Identifier: Apache-2.0
#pragma once
// Priority-greedy waves: the baseline that partitions are measured against, and the fallback of
// find_regions where the waves are better.
//
// Backends are served in order of priority. Each one takes every remaining node that it supports,
// in groups that are formed as ONNX Runtime forms an execution provider's subgraphs
// (onnxruntime/core/providers/partitioning_utils.cc): nodes are visited in waves of Kahn's
// algorithm, a supported node joins the open group, an unsupported one that reads from the group
// waits, and when only such nodes are left the group is closed and the next one begins. Groups are
// contracted before the next backend begins. Unlike there, each connected piece of a group is a
// region, unless the backend is HORIZONTAL.
#include "core/partition/convex/region_order.h"

namespace byoc {

/// Joins the nodes of each group, color by color: a smaller number is a higher priority.
/// The quotient stays acyclic: a node outside a group that depends on it is visited only after the
/// group is closed, so the order of the visits is a topological order of groups and single nodes;
/// and pieces of a group have no edges between them.
/// Cost: O(colors with something to join * (V + E) a(V)).
void join_waves(const RegionGraph& graph, const Successors& out, const RegionOptions& options,
                NodeSets& regions);

/// Returns the baseline: the regions of the waves alone, cut at the limits, numbered as
/// find_regions numbers them.
std::vector<uint32_t> find_wave_regions(const RegionGraph& graph, const RegionOptions& options);

/// Returns the same with every backend HORIZONTAL: a region is a whole group, connected or not.
std::vector<uint32_t> find_whole_waves(const RegionGraph& graph, const RegionOptions& options);

/// The number of regions of a partition and of the tensors that cross its borders.
struct PartitionSize {
  uint64_t regions = 0;         // of the colors that are not the rest, and nodes alone
  uint64_t border_tensors = 0;  // distinct tensors read outside the region that makes them
};
/// Counts regions and border tensors. All nodes of colors with `is_rest` count as one place and as
/// no region: a tensor that goes from one of them to another crosses no border.
PartitionSize measure(const RegionGraph& graph, const RegionOptions& options,
                      const std::vector<uint32_t>& region);

}  // namespace byoc
