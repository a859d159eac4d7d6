// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plugins/llvm/topi/tiled.h"

namespace byoc::llvm_plugin::conv {

/// Returns the tilings of a conv2d_nchwc, [n, o / b, h, w, b] or "pointwise" [n, o / b, p, b]: the
/// tile, panels and chunk, of which a model of the caches finds the fastest, and the loops over
/// terms that are written out. nullopt: it has no constant extents, or is another kind of sum.
std::optional<topi::TilingTemplate> conv_tiling(const te::Stage& anchor, const te::Target& target);

}  // namespace byoc::llvm_plugin::conv
