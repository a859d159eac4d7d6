#pragma once
// Ops whose result is a part of their operand's memory: slice, split, gather of one entry, pad that
// only takes away. Read as nodes of one op of our own, "part".
#include "region/region.h"

namespace byoc::onednn {

/// Whether the op can be a part at all; read_parts says whether these attributes make it one.
bool is_part(const Node& node);

/// One node per result, put into `made`: attributes `starts` and `steps` per dim of the operand,
/// `drop` the axis that goes, or -1. Throws Refusal when cells are copied, added or turned around.
std::vector<const Node*> read_parts(const Graph& graph, const Node& node, std::list<Node>& made);

}  // namespace byoc::onednn
