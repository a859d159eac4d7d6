#pragma once
// Functions that exporters write out in primitive ops, read as the one op they are.
#include "region/region.h"

namespace byoc::onednn {

/// A function of one value, in pieces. The pattern captures that value as "x" and a node of its own
/// under the row's name.
struct Pieces {
  std::string_view name;  // "gelu_erf"
  sdk::Dag (*pattern)(const sdk::Dag& x);
};
const std::vector<Pieces>& functions_in_pieces();
sdk::Dag layer_norm_in_pieces();

/// Whether the composite was matched by one of these.
bool is_pieces(const sdk::Body& body);

/// The unit of such a composite: layer norm, or a function with what stands before and behind it
/// (captures "anchor", "bias_add", "before", "after"). inputs: the values of the body's inputs;
/// `call` stands in `graph`. The nodes that stand for the pieces are put into `made`. Throws
/// Refusal when a constant is not the one the function has.
Unit read_pieces(const Graph& graph, const Node& call, const sdk::Body& body,
                 const std::vector<int>& inputs, std::list<Node>& made);

}  // namespace byoc::onednn
