// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

/// Tilings of an anchor as points of knobs.
struct TilingTemplate {
  std::string kind;
  Point first;
  std::function<Choices()> choices;
  std::function<Tiling(const Point&)> at;
};

/// Returns the tilings of a conv2d_nchwc, [n, o / b, h, w, b] or "pointwise" [n, o / b, p, b]: the
/// tile, panels and chunk, of which a model of the caches finds the fastest, and the loops over
/// terms that are written out. nullopt: it has no constant extents, or is another kind of sum.
std::optional<TilingTemplate> conv_tiling(const te::Stage& anchor, const te::Target& target);

/// Returns the template of a Dag with one of Winograd's computes, nullopt for others. Knobs:
///   winograd_tile     "6x2": 6 tiles by 2 blocks of products in registers
///   winograd_batches  the number of batches of an image
std::optional<Template> winograd_template(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
