// SPDX-License-Identifier: Apache-2.0
#pragma once
// Templates that tile the anchor of a Dag.
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

/// Tilings of an anchor as points of knobs.
struct TilingTemplate {
  std::string kind;
  Point first;
  std::function<Choices()> choices;
  std::function<Tiling(const Point&)> at;
  bool is_one_row = false;  // as Template has it
};
/// Returns the tilings of an anchor for a target; nullopt for anchors that they are not made for.
using TilingsOf = std::optional<TilingTemplate> (*)(const te::Stage& anchor,
                                                    const te::Target& target);

/// Returns the template of a Dag with one anchor, whose result and sums have constant extents above
/// 0; nullopt for others, and where there are no tilings. Where products are pairs of i16, tiles
/// have a register less, which holds a product until it is added.
std::optional<Template> tiled(const te::Dag& dag, const te::Target& target, TilingsOf tilings_of);
/// The same for Dags with several results, or a result of another shape than the sums: these are
/// stored, and the results computed from them.
std::optional<Template> tiled_and_stored(const te::Dag& dag, const te::Target& target,
                                         TilingsOf tilings_of);

}  // namespace byoc::llvm_plugin::topi
