// SPDX-License-Identifier: Apache-2.0
// Schedules reductions by default: those that read operands repeatedly keep a tile of sums in
// vector registers.
#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/planner.h"

namespace byoc::llvm_plugin::topi {
namespace {

// Vectors of sums that do not wait for each other: an addition takes about four cycles, and two
// begin in each.
constexpr int64_t kChains = 8;
constexpr int64_t kWrittenTerms = 8;  // of such sums, without a loop

// Returns true for rows that do not fill a vector, as the coordinates of points: lanes are rows
// then, which are loaded one by one.
bool has_short_rows(const te::Compute& own, const te::Var& rows, int64_t lanes) {
  int64_t terms = 1;
  for (const te::Axis& axis : own.reduce) terms *= std::max<int64_t>(extent_of(axis), 1);
  return terms < lanes && std::ranges::all_of(loads_of(own), [&](const te::Load* load) {
           return stride_of(*load, rows).has_value();
         });
}

}  // namespace

// Reductions that read each element once, as means do, have no operands to share: they get as many
// sums as keep the additions busy, first along memory.
void Planner::add_chains(const te::Compute& own, int64_t lanes, Tile& tile) const {
  tile.is_of_chains = true;
  const int64_t along = extent_of(own.axes[tile.lanes_axis]);
  int64_t vectors = std::max<int64_t>(tile.lanes / lanes, 1);
  while (2 * vectors <= kChains && along % (2 * vectors * lanes) == 0) vectors *= 2;
  tile.lanes = std::max(tile.lanes, vectors > 1 ? vectors * lanes : 0);
  for (size_t k = own.axes.size(); k-- > 0 && vectors < kChains;) {
    const int64_t extent = extent_of(own.axes[k]);
    if (k == tile.lanes_axis || extent < 2) continue;
    tile.axes.push_back(k);
    tile.factors.push_back(tile_factor(extent, kChains / vectors));
    return;
  }
}

std::optional<Tile> Planner::find_tile(const te::Compute& own, DType dtype) const {
  auto loads = loads_of(own);
  Tile tile;
  tile.lanes_axis = own.axes.size();
  while (tile.lanes_axis > 0 && extent_of(own.axes[tile.lanes_axis - 1]) == 1) --tile.lanes_axis;
  if (tile.lanes_axis-- == 0) return std::nullopt;
  const te::Axis& inner = own.axes[tile.lanes_axis];
  int64_t extent = extent_of(inner), lanes = target_.lanes(dtype_size(dtype));
  if (lanes < 2 || extent < 2) return std::nullopt;
  if (!may_load_lanes(loads, inner.var) && !has_short_rows(own, inner.var, lanes))
    return std::nullopt;
  const int64_t width = rules_.tile_vectors * lanes;
  tile.lanes = extent >= width ? width : std::min(extent, lanes);
  int64_t left = std::max<int64_t>(1, rules_.sums / std::max<int64_t>(1, tile.lanes / lanes));
  auto find_axis = [&](int64_t step) -> std::optional<size_t> {
    for (size_t k = own.axes.size(); k-- > 0;) {
      bool is_taken = std::find(tile.axes.begin(), tile.axes.end(), k) != tile.axes.end();
      if (k == tile.lanes_axis || is_taken || extent_of(own.axes[k]) < 2) continue;
      if (is_reused(loads, inner.var, step, own.axes[k].var)) return k;
    }
    return std::nullopt;
  };
  auto add = [&](size_t axis, int64_t most) {
    tile.axes.push_back(axis);
    tile.factors.push_back(tile_factor(extent_of(own.axes[axis]), most));
    left = std::max<int64_t>(1, left / tile.factors.back());
  };
  if (tile.lanes <= lanes) {  // a second vector, which shares the scalars
    if (auto axis = find_axis(0)) add(*axis, 2);
  }
  if (auto axis = find_axis(1)) add(*axis, left);
  const bool has_function = work_with_inlined(own) >= kFunctionWork;
  if (tile.axes.empty() && reads_each_once(own) && !has_function) add_chains(own, lanes, tile);
  return tile;
}

// Moves the tile's loops inside, vectorises the last of them, and returns the loops outside.
std::vector<std::string> Planner::tile_loops(const std::string& name, const Tile& tile) {
  std::vector<std::string> before = schedule_.loops(name), outer, inner;
  for (size_t k = 0; k < before.size(); ++k) {
    auto at = std::find(tile.axes.begin(), tile.axes.end(), k);
    bool is_lanes = k == tile.lanes_axis;
    if (!is_lanes && at == tile.axes.end()) {
      outer.push_back(before[k]);
      continue;
    }
    int64_t factor =
        is_lanes ? tile.lanes : tile.factors[static_cast<size_t>(at - tile.axes.begin())];
    if (!schedule_.split(name, before[k], factor).ok()) return {};
    outer.push_back(before[k] + ".o");
    if (!is_lanes) inner.push_back(before[k] + ".i");
  }
  inner.push_back(before[tile.lanes_axis] + ".i");
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  if (!schedule_.reorder(name, order).ok()) return {};
  for (size_t k = 0; k + 1 < inner.size(); ++k) (void)schedule_.unroll(name, inner[k]).ok();
  (void)schedule_.vectorize(name, inner.back()).ok();
  return outer;
}

bool Planner::plan_tiles(const std::string& name) {
  const te::Compute& own = *compute(name);
  if (own.values.size() != 1 || own.axes.empty()) return false;
  std::optional<Tile> tile = find_tile(own, stage(name).outputs[0].dtype());
  if (!tile) return false;
  std::optional<SumStages> stages = with_last_step(name);
  if (!stages) return false;
  const auto& [sums, last] = *stages;
  std::vector<std::string> outer = tile_loops(last, *tile);
  planned_.push_back(last);
  planned_.push_back(sums);
  if (outer.empty() || !schedule_.compute_at(sums, last, outer.back()).ok()) return true;
  std::vector<std::string> order, loops = schedule_.loops(sums);
  const size_t spatial = compute(sums)->axes.size();
  auto is_inner = [&](size_t k) {
    return k == tile->lanes_axis ||
           std::find(tile->axes.begin(), tile->axes.end(), k) != tile->axes.end();
  };
  for (size_t k = 0; k < loops.size(); ++k) {
    if (k >= spatial || !is_inner(k)) order.push_back(loops[k]);
  }
  for (size_t axis : tile->axes) order.push_back(loops[axis]);
  order.push_back(loops[tile->lanes_axis]);
  if (!schedule_.reorder(sums, order).ok()) return true;
  for (size_t axis : tile->axes) (void)schedule_.unroll(sums, loops[axis]).ok();
  const te::Axis& terms = compute(sums)->reduce.back();
  if (tile->is_of_chains && extent_of(terms) <= kWrittenTerms)
    (void)schedule_.unroll(sums, loops.back()).ok();
  (void)schedule_.vectorize(sums, loops[tile->lanes_axis]).ok();
  parallelize(last, outer, rules_.grain);
  return true;
}

void Planner::plan_reduction(const std::string& name) {
  std::vector<std::string> loops = schedule_.loops(name);
  const auto spatial = static_cast<ptrdiff_t>(compute(name)->axes.size());
  if (std::ranges::find(hosted_, name) == hosted_.end() && spatial > 0)
    parallelize(name, {loops.begin(), loops.begin() + spatial}, rules_.grain);
}

}  // namespace byoc::llvm_plugin::topi
