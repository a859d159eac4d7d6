// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/dim.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/winograd/schedule.h"
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/points.h"

#include <algorithm>
#include <cmath>

namespace byoc::llvm_plugin::winograd {
namespace {

using topi::Choices;
using topi::Knob;
using topi::Point;
using topi::Template;

constexpr size_t kMostValues = 24;  // of a knob
// "6x2": 6 tiles by 2 blocks of products in registers; the number of batches of an image.
constexpr const char *kTileKnob = "winograd_tile", *kBatchesKnob = "winograd_batches";

// Filters that are no constants would be transformed in every run: possible, and never usual.
void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  std::optional<Conv> conv = has_exact_sums(site) ? std::nullopt : conv_of(site);
  if (!conv) return;
  conv->is_open = is_open(call.open_shape[2]) || is_open(call.open_shape[3]);
  if (conv->is_open && conv->is_plain) return;  // whose phases are next to each other by numbers
  const double direct = direct_cycles_of(*conv, *site.target);
  for (te::Strategy& other : out) {
    const bool is_joined = other.name == topi::kJoinedWindows;
    const double blocks = static_cast<double>(conv->o_blocks);
    if (is_joined) other.cost_ns = cost_of(direct * std::ceil(blocks / 2) / blocks);
    else if (other.name == "direct") other.cost_ns = cost_of(direct);
  }
  const int level = has_constant_weight(site) ? kPreferred : kPossible;
  for (const Tile& tile : tiles_of(*conv)) {
    te::Strategy strategy{.name = name_of(tile), .level = level};
    strategy.compute = compute_of(*conv, tile);
    strategy.cost_ns = cost_of(cycles_of(shape_of(*conv, tile), *site.target));
    strategy.has_generic_schedule = false;
    out.push_back(std::move(strategy));
  }
}

Point point_of(const Shape& shape, const Plan& plan) {
  const int64_t batches = (shape.tiles_down + plan.rows - 1) / plan.rows;
  return {{kTileKnob, topi::text_of(plan.tile)}, {kBatchesKnob, cat(batches)}};
}

Plan plan_at(const Shape& shape, const Point& point) {
  Plan out;
  const int64_t batches = std::min(topi::number_at(point, kBatchesKnob), shape.tiles_down);
  out.rows = rows_of_batch(shape, (shape.tiles_down + batches - 1) / batches);
  out.tile =
      topi::tile_at({{"tile", point.at(kTileKnob)}}, most_cells(shape, out.rows), shape.o_blocks);
  return out;
}

Choices choices_of(const Shape& shape, const te::Target& target) {
  Knob tiles{kTileKnob, {}}, batches{kBatchesKnob, {}};
  std::vector<Point> guesses;
  auto add = [](Knob& knob, const Point& point) {
    const std::string& value = point.at(knob.name);
    const bool is_new = std::ranges::find(knob.values, value) == knob.values.end();
    if (is_new && knob.values.size() < kMostValues) knob.values.push_back(value);
  };
  for (const Plan& plan : ranked_plans(shape, target)) {
    guesses.push_back(point_of(shape, plan));
    add(tiles, guesses.back());
    add(batches, guesses.back());
  }
  return topi::complete({tiles, batches}, guesses);
}

std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  if (has_filters_alone(dag)) {
    auto at = [&dag](const Point&) { return schedule_filters(dag); };
    return Template{"winograd_filters", {}, [] { return topi::complete({}, {Point()}); }, at};
  }
  const std::optional<Shape> shape = find_shape(dag);
  if (!shape) return std::nullopt;
  auto at = [&dag, shape = *shape, target](const Point& point) {
    return schedule_batches(dag, plan_at(shape, point), target);
  };
  return Template{"conv2d_winograd", point_of(*shape, ranked_plans(*shape, target).front()),
                  [shape = *shape, target] { return choices_of(shape, target); }, at};
}

bool owns(std::string_view compute) { return compute.starts_with("winograd_"); }

}  // namespace

extern const Family kFamily{
    .name = "winograd", .add_computes = add_computes, .owns = owns, .schedules = schedules};

}  // namespace byoc::llvm_plugin::winograd
