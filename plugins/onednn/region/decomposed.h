// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that exporters write as primitive ops, read as one op each.
#include "region/region.h"

namespace byoc::onednn {

/// A function of one value, written out in primitive ops. The pattern captures that value as "x"
/// and one of its own nodes under the row's name.
struct Decomposed {
  std::string_view name;  // "gelu_erf"
  sdk::Dag (*pattern)(const sdk::Dag& x);
};
const std::vector<Decomposed>& decomposed_functions();
sdk::Dag decomposed_layer_norm();

/// Returns whether the composite was matched by one of these.
bool is_decomposed(const sdk::Body& body);

/// Returns the unit of such a composite: layer norm, or a function with the ops before and after it
/// (captures "anchor", "bias_add", "before", "after"). inputs: the values of the body's inputs;
/// `call` is a node of `graph`. The node that replaces the primitive ops is put into `made`. Throws
/// Refusal when a constant differs from the function's.
Unit read_decomposed(const Graph& graph, const Node& call, const sdk::Body& body,
                     const std::vector<int>& inputs, std::list<Node>& made);

}  // namespace byoc::onednn
