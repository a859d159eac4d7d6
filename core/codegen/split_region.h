// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// A region of a plugin that is cut in two before an op.
struct SplitRegion {
  Function function;     ///< with annotations of the plugin around each part, and no attributes
  uint32_t node = 0;     ///< the op that the second part begins with
  bool is_left = false;  ///< it was the first one, and is outside of all parts
};

/// Cuts `function` before op `index`, counted as in the graph JSON's "nodes". The first op is left
/// out of the rest. Parts without a value between them become several, unless `is_horizontal`.
/// Returns nullopt for a function of one op, and for an index outside of it. Cost: linear.
std::optional<SplitRegion> split_region(const Function& function, int64_t index,
                                        const std::string& plugin, bool is_horizontal,
                                        const OpRegistry& ops);

}  // namespace byoc
