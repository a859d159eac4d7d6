// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops whose result is a view of some of their operand's cells: slice, split, gather of one entry,
// pad that only takes away. Read as nodes of one op of our own, "subview".
#include "region/region.h"

namespace byoc::onednn {

/// Returns whether the op can be a view at all; read_subviews refuses attributes that make it none.
bool is_subview(const Node& node);

/// One node per result, put into `made`: attributes `starts` and `steps` per dim of the operand,
/// `drop` the axis that goes, or -1. Throws Refusal when cells are copied, added or turned around.
std::vector<const Node*> read_subviews(const Graph& graph, const Node& node, std::list<Node>& made);

}  // namespace byoc::onednn
