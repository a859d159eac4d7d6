// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops whose result is a view of some of their operand's cells: slice, split, gather of one entry, a
// pad that only removes cells. They are read as nodes of one op of the plugin's own, "subview".
#include "region/region.h"

namespace byoc::onednn {

/// Returns whether the op can be a view at all; read_subviews refuses attributes that make it none.
bool is_subview(const Node& node);

/// Puts one node per result into `made`: attributes `starts` and `steps` per dim of the operand,
/// `drop` the axis to remove, or -1. Throws Refusal when cells are copied, added or turned around.
std::vector<const Node*> read_subviews(const Graph& graph, const Node& node, std::list<Node>& made);

}  // namespace byoc::onednn
