// SPDX-License-Identifier: Apache-2.0
// Knobs of attention, and its place in the list of families.
#include <algorithm>

#include "plugins/llvm/families/attention/compute.h"
#include "plugins/llvm/families/attention/match.h"
#include "plugins/llvm/families/attention/schedule.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::attention {
namespace {

using namespace topi;

constexpr size_t kMostKnobTiles = 32;  // of a knob

// Computes attention in blocks of queries. The knob "rows" is the number of queries of a block,
// "tile" the tile of the scores, "values_tile" that of the product with the values.
std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  const std::optional<Shape> shape = find_shape(dag);
  if (!shape) return std::nullopt;
  const Plan plan = best_plan(*shape, target);
  const Point first = {{"rows", cat(plan.rows)},
                       {"tile", text_of(plan.scores)},
                       {"values_tile", text_of(plan.results)}};
  auto at = [&dag, shape = *shape, target](const Point& point) {
    const int64_t lanes = target.lanes(sizeof(float));
    Plan plan{.rows = std::min(number_at(point, "rows"), shape.rows)};
    auto tile = [&](const char* knob, int64_t columns) {
      return tile_at({{"tile", point.at(knob)}}, plan.rows, (columns + lanes - 1) / lanes);
    };
    plan.scores = tile("tile", shape.keys), plan.results = tile("values_tile", shape.columns);
    return schedule_blocks(dag, plan, target);
  };
  auto choices = [shape = *shape, first, target] {
    auto tiles = [&](const char* name, int64_t columns) {
      Knob out{name, {}};
      for (const RegisterTile& tile : tiles_of(shape.rows, columns, target)) {
        if (out.values.size() < kMostKnobTiles) out.values.push_back(text_of(tile));
      }
      return out;
    };
    const Knob rows = knob_of("rows", {6, 8, 10, 12, 16, 20, 24, 32, 40, 48});
    return complete({rows, tiles("tile", shape.keys), tiles("values_tile", shape.columns)},
                    {first});
  };
  return Template{"attention", first, choices, at};
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  const std::string_view role = call.match == nullptr ? "" : call.match->role(site.node);
  if (role.empty()) return;
  te::Strategy strategy{.name = kCompute, .level = kPreferred + 1};
  strategy.compute = compute_of(role == kScoresRole, site.target->lanes(sizeof(float)));
  strategy.has_generic_schedule = false;
  out.push_back(std::move(strategy));
}

bool owns(std::string_view compute) { return compute == kCompute; }

}  // namespace

extern const Family kFamily{.name = "attention",
                            .find = find,
                            .add_computes = add_computes,
                            .owns = owns,
                            .schedules = schedules};

}  // namespace byoc::llvm_plugin::attention
