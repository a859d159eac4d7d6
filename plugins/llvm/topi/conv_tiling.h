// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/te/target.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::topi {

/// Returns the tiling of a conv2d_nchwc, [n, o / b, h, w, b] or "pointwise" [n, o / b, p, b]: the
/// tile, panels and chunk that a model of the caches finds fastest. nullopt: it has no constant
/// extents, or is another kind of sum.
std::optional<Tiling> conv_tiling(const te::Stage& anchor, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
