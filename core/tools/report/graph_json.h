// SPDX-License-Identifier: Apache-2.0
#pragma once
// A drawing with its layout, as the page reads it.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/show/drawing.h"
#include "core/tools/show/explanation.h"

namespace byoc::driver {

/// Returns "nodes", "regions", "edges" (pairs of nodes) and "layout". A node has "ops", the indices
/// of its ops in `explanation`, and "added_for", those of the ops for which a pass added its op.
/// Cost: O(n log n) for n = nodes + edges.
nlohmann::ordered_json graph_json(const Drawing& drawing, const Explanation& explanation);

}  // namespace byoc::driver
