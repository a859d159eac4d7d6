// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/depthwise.h"

#include "plugins/llvm/chain/schedule.h"
#include "plugins/llvm/topi/points.h"
#include "plugins/llvm/topi/schedule.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kMostDepthwiseColumns =
    7;  // of a window, and of those in chains: they are written out
constexpr size_t kMostDepthwiseTiles = 16;
constexpr double kDepthwiseTileSlack = 1.3;  // cycles of a tile against those of the best

// Eight sums of a row hide the latency of a multiply-add, and leave registers for the weights of a
// row of the window; each element of the image is loaded once and meets every cell that it reaches.
// Where there are twice as many registers, more cells share the weights.
constexpr int64_t kDepthwiseCells = 8, kDepthwiseCellsOfManyRegisters = 14;

int64_t most_cells(int registers) {
  return registers < 32 ? kDepthwiseCells : kDepthwiseCellsOfManyRegisters;
}

// Returns the number of blocks of sums that the registers hold.
int registers_of(const chain::Conv& conv, const te::Target& target) {
  const int64_t per_block = std::max<int64_t>(conv.extents.lanes / target.lanes(sizeof(float)), 1);
  return static_cast<int>(target.vector_registers / per_block);
}

// Returns a tile of a convolution of few terms: twelve sums hide the latency of a multiply-add, and
// what follows them runs beside the next tile's products.
RegisterTile short_tile(const chain::Conv& conv, const te::Target& target) {
  const int64_t sums = registers_of(conv, target) >= 16 ? 12 : 4;
  const int64_t vectors = std::min<int64_t>(conv.extents.blocks, 2);
  return {std::min(sums / vectors, conv.extents.w), vectors};
}

// Returns a tile of a convolution of more terms.
RegisterTile long_tile(const chain::Conv& conv, const te::Target& target) {
  if (registers_of(conv, target) < 32 || conv.extents.blocks == 1) return short_tile(conv, target);
  return {even_tile(conv.extents.w, kDepthwiseCellsOfManyRegisters), 2};
}

chain::Plan first_plan(const chain::Chain& chain, const te::Target& target) {
  const ConvExtents& e = chain.depthwise.extents;
  chain::Plan out;
  out.rows = e.h / chain::row_parts_of(chain, target.threads);
  out.cells = even_tile(e.w, most_cells(registers_of(chain.depthwise, target)));
  if (chain.before) out.before = short_tile(*chain.before, target);
  if (chain.after) out.after = long_tile(*chain.after, target);
  return out;
}

Point point_of(const chain::Chain& chain, const chain::Plan& plan) {
  return {{"tile", text_of(plan.before)},
          {"cells", cat(plan.cells)},
          {"after_tile", text_of(plan.after)},
          {"row_parts", cat(chain.depthwise.extents.h / plan.rows)}};
}

// Returns the plan of a point; with more parts of rows for several threads, which then share them.
chain::Plan plan_at(const chain::Chain& chain, const Point& point, int64_t threads) {
  const ConvExtents& e = chain.depthwise.extents;
  auto tile = [&](const char* knob, const std::optional<chain::Conv>& conv) {
    if (!conv) return RegisterTile();
    return tile_at({{"tile", point.at(knob)}}, conv->extents.w, conv->extents.blocks);
  };
  chain::Plan out;
  out.before = tile("tile", chain.before), out.after = tile("after_tile", chain.after);
  out.cells = std::min(number_at(point, "cells"), e.w);
  int64_t parts = number_at(point, "row_parts");
  if (threads > 1) parts = chain::row_parts_of(chain, threads, parts);
  out.rows = part_of(e.h, parts, 1);
  return out;
}

Knob tiles_of(const char* name, const std::optional<chain::Conv>& conv, const te::Target& target) {
  Knob out{name, {}};
  if (!conv) return out;
  const ConvExtents& e = conv->extents;
  for (const RegisterTile& tile :
       good_tiles(e.w, e.blocks, registers_of(*conv, target), kDepthwiseTileSlack)) {
    if (out.values.size() < kMostDepthwiseTiles) out.values.push_back(text_of(tile));
  }
  return out;
}

Choices chain_choices(const chain::Chain& chain, const te::Target& target) {
  const ConvExtents& e = chain.depthwise.extents;
  std::vector<int64_t> cells, parts;
  for (int64_t most : {4, 8, 12, 14}) {
    if (most <= most_cells(registers_of(chain.depthwise, target)))
      cells.push_back(even_tile(e.w, most));
  }
  for (int64_t count : {1, 2, 4, 8}) {
    if (e.h % count == 0) parts.push_back(count);
  }
  return complete({tiles_of("tile", chain.before, target), knob_of("cells", cells),
                   tiles_of("after_tile", chain.after, target), knob_of("row_parts", parts)},
                  {point_of(chain, first_plan(chain, target))});
}

}  // namespace

std::optional<Template> depthwise_template(const te::Dag& dag, const te::Target& target) {
  std::optional<AnchorDag> what = find_anchor_stage(dag);
  if (!what) return std::nullopt;
  std::optional<ConvExtents> e = conv_extents(dag.stages[what->anchor]);
  if (!e || e->c * e->inner != 1 || e->kw > kMostDepthwiseColumns) return std::nullopt;
  const RowTiling first{even_tile(e->w, most_cells(target.vector_registers)), 1, Taps::kInCells};
  return row_template("depthwise", dag, *what, {e->n, e->blocks, e->h, e->w, e->kw}, first, target);
}

std::optional<Template> chain_template(const te::Dag& dag, const te::Target& target) {
  const std::optional<chain::Chain> found = chain::find_chain(dag);
  if (!found || found->depthwise.extents.kw > kMostDepthwiseColumns) return std::nullopt;
  Template out{"chain", point_of(*found, first_plan(*found, target)), {}, {}};
  out.choices = [chain = *found, target] { return chain_choices(chain, target); };
  out.at = [&dag, chain = *found, target](const Point& point) {
    Result<te::Schedule> out =
        chain::schedule_rows(dag, chain, plan_at(chain, point, target.threads));
    if (out.ok()) return out;
    const Template plain = default_template(dag, target);
    return plain.at(plain.first);
  };
  return out;
}

}  // namespace byoc::llvm_plugin::topi
