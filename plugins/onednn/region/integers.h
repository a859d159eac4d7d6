// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products and sums of small integers: an op between dequantize and quantize, read as one unit.
#include "region/region.h"

namespace byoc::onednn {

/// Adds the patterns: products and sums of two dequantized operands, with what may follow them.
void add_integer_patterns(std::vector<sdk::Pattern>& table);

/// Returns whether the composite was matched by one of these.
bool has_integers(const sdk::Body& body);
/// Returns the unit of such a composite, in which `inputs` are the values of the body's inputs and
/// `result` is the composite's type.
/// Throws Refusal for scales along another dim than that of the results' channels, for a bias that
/// makes the result larger, and for types that oneDNN does not multiply.
Unit read_integers(const Graph& graph, const Region& region, const sdk::Body& body,
                   const std::vector<int>& inputs, const Type& result);

/// Returns the values whose elements a primitive is made of: scales, zero points and the bias.
std::vector<int> values_of_numbers(const Unit& unit);
/// Keeps the elements of those that the graph states.
void read_known_numbers(const Graph& graph, const Unit& unit, Region& region);

}  // namespace byoc::onednn
