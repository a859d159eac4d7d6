// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions with open sizes: the numbers at which they are judged and compiled first.
#include "region/region.h"

namespace byoc::onednn {

/// A number per size, in the order of Graph::size_ranges.
using Sizes = std::vector<int64_t>;

inline bool is_open(const Graph& graph) { return !graph.size_ranges.empty(); }

/// Returns usual numbers: 128 of a size that may be as large, 4 of a size that is only the number
/// of images. Estimates are for these, as those of other plugins are.
Sizes nominal_sizes(const Graph& graph);
/// Returns the numbers at which a graph is tried before it is accepted: the nominal ones first,
/// then the largest, the least, and mixtures of both. oneDNN's refusal of one of these is a refusal
/// of all. Throws Refusal where a size has no bound.
std::vector<Sizes> sizes_to_try(const Graph& graph);

/// Throws Refusal for ops whose results can be checked size by size alone, and that have too many
/// sizes for that: resizing of open extents, means whose windows reach beyond an open image.
void check_open_ops(const Graph& candidate);

/// Returns "B=2, T=17".
std::string sizes_text(const Graph& graph, const Sizes& sizes);

}  // namespace byoc::onednn
