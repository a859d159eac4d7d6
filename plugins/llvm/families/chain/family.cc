// SPDX-License-Identifier: Apache-2.0
// Knobs of chains, and their place in the list of families.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/chain/match.h"
#include "plugins/llvm/families/chain/schedule.h"
#include "plugins/llvm/families/conv/computes.h"
#include "plugins/llvm/families/depthwise/cells.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::chain {
namespace {

using namespace topi;

constexpr size_t kMostTiles = 16;
constexpr double kTileSlack = 1.3;  // cycles of a tile against those of the best

// Returns the number of blocks of sums that the registers hold.
int registers_of(const Conv& conv, const te::Target& target) {
  const int64_t per_block = std::max<int64_t>(conv.extents.lanes / target.lanes(sizeof(float)), 1);
  return static_cast<int>(target.vector_registers / per_block);
}

// Returns a tile of a convolution of few terms: twelve sums hide the latency of a multiply-add, and
// what follows them runs beside the next tile's products.
RegisterTile short_tile(const Conv& conv, const te::Target& target) {
  const int64_t sums = registers_of(conv, target) >= 16 ? 12 : 4;
  const int64_t vectors = std::min<int64_t>(conv.extents.blocks, 2);
  return {std::min(sums / vectors, conv.extents.w), vectors};
}

// Returns a tile of a convolution of more terms.
RegisterTile long_tile(const Conv& conv, const te::Target& target) {
  if (registers_of(conv, target) < 32 || conv.extents.blocks == 1) return short_tile(conv, target);
  return {even_tile(conv.extents.w, depthwise::kCellsOfManyRegisters), 2};
}

Plan first_plan(const Chain& own, const te::Target& target) {
  const ConvExtents& e = own.depthwise.extents;
  Plan out;
  out.rows = e.h / row_parts_of(own, target.threads);
  out.cells = even_tile(e.w, depthwise::most_cells(registers_of(own.depthwise, target)));
  if (own.before) out.before = short_tile(*own.before, target);
  if (own.after) out.after = long_tile(*own.after, target);
  return out;
}

Point point_of(const Chain& own, const Plan& plan) {
  return {{"tile", text_of(plan.before)},
          {"cells", cat(plan.cells)},
          {"after_tile", text_of(plan.after)},
          {"row_parts", cat(own.depthwise.extents.h / plan.rows)}};
}

// Returns the plan of a point; with more parts of rows for several threads, which then share them.
Plan plan_at(const Chain& own, const Point& point, int64_t threads) {
  const ConvExtents& e = own.depthwise.extents;
  auto tile = [&](const char* knob, const std::optional<Conv>& conv) {
    if (!conv) return RegisterTile();
    return tile_at({{"tile", point.at(knob)}}, conv->extents.w, conv->extents.blocks);
  };
  Plan out;
  out.before = tile("tile", own.before), out.after = tile("after_tile", own.after);
  out.cells = std::min(number_at(point, "cells"), e.w);
  int64_t parts = number_at(point, "row_parts");
  if (threads > 1) parts = row_parts_of(own, threads, parts);
  out.rows = part_of(e.h, parts, 1);
  return out;
}

Knob tiles_of(const char* name, const std::optional<Conv>& conv, const te::Target& target) {
  Knob out{name, {}};
  if (!conv) return out;
  const ConvExtents& e = conv->extents;
  for (const RegisterTile& tile :
       good_tiles(e.w, e.blocks, registers_of(*conv, target), kTileSlack)) {
    if (out.values.size() < kMostTiles) out.values.push_back(text_of(tile));
  }
  return out;
}

Choices chain_choices(const Chain& own, const te::Target& target) {
  const ConvExtents& e = own.depthwise.extents;
  std::vector<int64_t> cells, parts;
  for (int64_t most : {4, 8, 12, 14}) {
    if (most <= depthwise::most_cells(registers_of(own.depthwise, target)))
      cells.push_back(even_tile(e.w, most));
  }
  for (int64_t count : {1, 2, 4, 8}) {
    if (e.h % count == 0) parts.push_back(count);
  }
  return complete({tiles_of("tile", own.before, target), knob_of("cells", cells),
                   tiles_of("after_tile", own.after, target), knob_of("row_parts", parts)},
                  {point_of(own, first_plan(own, target))});
}

std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  const std::optional<Chain> found = find_chain(dag);
  if (!found || found->depthwise.extents.kw > depthwise::kMostColumns) return std::nullopt;
  Template out{"chain", point_of(*found, first_plan(*found, target)), {}, {}};
  out.choices = [chain = *found, target] { return chain_choices(chain, target); };
  out.at = [&dag, chain = *found, target](const Point& point) {
    return schedule_rows(dag, chain, plan_at(chain, point, target.threads));
  };
  return out;
}

// The direct sums, with blocks of half a vector joined where they are of constant weights.
void add_computes(const FamilyCall& call, Strategies& out) {
  if (call.match == nullptr || call.match->role(call.site.node).empty()) return;
  if (conv::may_join(call.site)) conv::add_joined(call.site, out);
  te::Strategy own = out.back();
  own.name = kCompute, own.level = kPreferred + 1, own.has_generic_schedule = false;
  out.push_back(std::move(own));
}

bool owns(std::string_view compute) { return compute == kCompute; }

}  // namespace

extern const Family kFamily{.name = "chain",
                            .find = find,
                            .add_computes = add_computes,
                            .owns = owns,
                            .schedules = schedules};

}  // namespace byoc::llvm_plugin::chain
