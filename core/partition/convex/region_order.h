// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns joined nodes into numbered regions: the last step of every way to form regions.
#include <vector>

#include "core/partition/convex/edge_contraction.h"
#include "core/partition/convex/regions.h"

namespace byoc {

/// Edges out of every node: the other half of the CSR.
struct Successors {
  explicit Successors(const RegionGraph& graph);
  std::vector<uint32_t> first, edge, target;
};

/// Returns the nodes in an order in which every region is contiguous and regions follow each other
/// in a topological order of the quotient, which must be acyclic.
std::vector<uint32_t> order_by_region(const RegionGraph& graph, const Successors& out,
                                      NodeSets& regions);

/// Numbers regions along `order` and cuts those above the limits into runs of it (step 5). Returns
/// the region of every node.
std::vector<uint32_t> number_regions(const RegionGraph& graph, const RegionOptions& options,
                                     const std::vector<uint32_t>& order, NodeSets& regions);

}  // namespace byoc
