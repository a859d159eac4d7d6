// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices of the plugin for one region, and the choices that a point of them names.
#include "primitives/primitives.h"

namespace byoc::onednn {

/// Returns the space: the knobs with two values or more that build different kernels of this region
/// on this machine. A value that needs a slower reference kernel is left out. Builds the primitives
/// of the region once per value. Throws Refusal where the region has no kernel.
sdk::KnobSpace space_of(const Graph& graph, const ChainRules& rules, const dnnl::engine& engine,
                        uint32_t threads);

/// Returns the defaults with the choices of the point in their place. Throws
/// BYOC_INVALID_ARGUMENT, which names the knob and its values, for one that no region has.
Choices choices_of(const sdk::Point& point);

}  // namespace byoc::onednn
