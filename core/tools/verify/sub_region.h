// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a region as functions that can be compiled by themselves.
#include <span>

#include "byoc/ir/module.h"

namespace byoc::driver {

/// Returns true for nodes that compute: neither parameters nor constants.
bool is_work(const Node& node);

/// A function of some nodes of a region. It returns the results of the last node; the values that
/// it reads from other nodes are its parameters.
struct SubRegion {
  Function function;
  std::vector<ValueId> reads;  // the region's value for each parameter
};
/// Makes it of `nodes`, which are in order. Cost: O(nodes log nodes).
SubRegion sub_region(const Function& whole, std::span<const uint32_t> nodes);

/// A part of a region that rounds at its end, if at all.
struct Piece {
  std::vector<uint32_t> nodes;  // in order; the last one is the only one that others read
};
/// Cuts a region after each node whose results are integers of 8 or 16 bits, have several readers,
/// or are results of the region. Nodes that nothing reads are in no piece. Cost: O(nodes).
std::vector<Piece> pieces_of(const Function& region);

}  // namespace byoc::driver
