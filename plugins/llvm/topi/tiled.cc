// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/tiled.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {

namespace {

std::optional<Template> template_of_anchor(const te::Dag& dag, const te::Target& target,
                                           const std::optional<AnchorDag>& what,
                                           TilingsOf tilings_of) {
  if (!what) return std::nullopt;
  const te::Stage& anchor = dag.stages[what->anchor];
  const bool is_known = std::ranges::all_of(anchor.outputs[0].shape(), [](const te::Expr& extent) {
    return te::as_int(extent).value_or(0) >= 1;
  });
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  const bool has_terms = std::ranges::all_of(
      compute.reduce, [](const te::Axis& axis) { return extent_of(axis) >= 1; });
  if (!is_known || !has_terms) return std::nullopt;
  te::Target of_tiles = target;
  of_tiles.vector_registers -= registers_of_products(compute);
  const std::optional<TilingTemplate> tilings = tilings_of(anchor, of_tiles);
  if (!tilings) return std::nullopt;
  auto at = [&dag, what = *what, tiling = tilings->at, lanes = target.lanes(sizeof(float))](
                const Point& point) { return tile_anchor(dag, what, tiling(point), lanes); };
  return Template{tilings->kind, tilings->first, tilings->choices, at, tilings->is_one_row};
}

}  // namespace

std::optional<Template> tiled(const te::Dag& dag, const te::Target& target, TilingsOf tilings_of) {
  return template_of_anchor(dag, target, find_anchor_stage(dag), tilings_of);
}

std::optional<Template> tiled_and_stored(const te::Dag& dag, const te::Target& target,
                                         TilingsOf tilings_of) {
  return template_of_anchor(dag, target, find_stored_anchor(dag), tilings_of);
}

}  // namespace byoc::llvm_plugin::topi
