#pragma once
// Layer norm and gelu as exporters write them out, in primitive ops: read as the one op they are.
#include "region.h"

namespace byoc::onednn {

/// Whether the composite captures what only these patterns do: a variance, or gelu's root of two.
bool is_pieces(const sdk::Body& body);

/// inputs: the values of the body's inputs; `call` stands in `graph`. The nodes that stand for the
/// pieces are put into `made`. Throws Refusal when a constant is not the one the function has.
Unit read_pieces(const Graph& graph, const Node& call, const sdk::Body& body,
                 const std::vector<int>& inputs, std::list<Node>& made);

}  // namespace byoc::onednn
