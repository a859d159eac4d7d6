// SPDX-License-Identifier: Apache-2.0
// Schedules reductions by default: those whose operands are read repeatedly keep a tile of sums in
// registers; those along memory sum in lanes.
#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/planner.h"

namespace byoc::llvm_plugin::topi {
namespace {

/// Returns a factor of at most `most` and not far below, so that the remainder is small.
int64_t tile_factor(int64_t extent, int64_t most) {
  if (extent <= most) return extent;
  int64_t best = most;
  double best_cost = 1e9;
  for (int64_t f = most; f > 1 && 2 * f >= most; --f) {
    double full = static_cast<double>(extent / f), rest = extent % f != 0;
    double cost = (full + rest) * static_cast<double>(f + 2);  // 2: the operands that all share
    if (cost < best_cost) best = f, best_cost = cost;
  }
  return best;
}

bool may_load_lanes(const std::vector<const te::Load*>& loads, const te::Var& axis) {
  return std::all_of(loads.begin(), loads.end(), [&](const te::Load* load) {
    auto stride = stride_of(*load, axis);
    return stride == 0 || stride == 1;
  });
}

/// Returns true when a load that moves by `step` along `lanes` does not move along `axis`.
bool is_reused(const std::vector<const te::Load*>& loads, const te::Var& lanes, int64_t step,
               const te::Var& axis) {
  return std::any_of(loads.begin(), loads.end(), [&](const te::Load* load) {
    return stride_of(*load, lanes) == step && stride_of(*load, axis) == 0;
  });
}

}  // namespace

std::optional<Tile> Planner::find_tile(const te::Compute& own, DType dtype) const {
  auto loads = loads_of(own);
  Tile tile;
  tile.lanes_axis = own.axes.size();
  while (tile.lanes_axis > 0 && extent_of(own.axes[tile.lanes_axis - 1]) == 1) --tile.lanes_axis;
  if (tile.lanes_axis-- == 0) return std::nullopt;
  const te::Axis& inner = own.axes[tile.lanes_axis];
  int64_t extent = extent_of(inner), lanes = target_.lanes(dtype_size(dtype));
  if (lanes < 2 || extent < 2 || !may_load_lanes(loads, inner.var)) return std::nullopt;
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
    left /= tile.factors.back();
  };
  if (tile.lanes <= lanes) {  // a second vector, which shares the scalars
    if (auto axis = find_axis(0)) add(*axis, 2);
  }
  if (auto axis = find_axis(1)) add(*axis, left);
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
  // The sums go to the one stage that reads them element by element, or to a copy of them.
  std::vector<const te::Stage*> by = readers(stage(name));
  std::string sums = name, last = name;
  bool has_last_step = !is_result(stage(name)) && by.size() == 1 && is_result(*by[0]);
  if (has_last_step) {
    auto* reader = std::get_if<te::Compute>(&by[0]->kind);
    has_last_step = reader && reader->reduce.empty() && reader->axes.size() == own.axes.size();
    for (const te::Load* load : reader ? loads_of(*reader) : std::vector<const te::Load*>{}) {
      bool is_sum = load->tensor == stage(name).outputs[0];
      has_last_step = has_last_step && (!is_sum || is_elementwise(*load, reader->axes));
    }
  }
  if (has_last_step) last = by[0]->name;
  else if (schedule_.cache_write(name).ok()) sums = name + ".cache";
  else return false;
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
  (void)schedule_.vectorize(sums, loops[tile->lanes_axis]).ok();
  parallelize(last, outer);
  return true;
}

// Keeps the reduction over `loop` in vectors of `width` lanes and returns the stage of the partial
// results, or "" where there can be none.
std::string Planner::split_into_lanes(const std::string& name, const std::string& loop,
                                      int64_t width) {
  if (!schedule_.split(name, loop, width).ok()) return "";
  if (!schedule_.rfactor(name, loop + ".i").ok()) return "";
  std::vector<std::string> all = names();
  std::string partial = *(std::find(all.begin(), all.end(), name) - 1);
  planned_.push_back(partial);
  const size_t lanes = compute(name)->axes.size();  // its last axis
  std::vector<std::string> loops = schedule_.loops(partial), order;
  for (size_t k = 0; k < loops.size(); ++k) {
    if (k != lanes) order.push_back(loops[k]);
  }
  order.push_back(loops[lanes]);
  if (schedule_.reorder(partial, order).ok()) (void)schedule_.vectorize(partial, order.back()).ok();
  return partial;
}

// Keeps partial sums, one per lane, over the adjacent elements of the last axis of the reduction:
// in several independent vectors, then in one.
void Planner::sum_in_lanes(const std::string& name) {
  const te::Compute& own = *compute(name);
  const te::Axis along = own.reduce.back();
  int64_t lanes = target_.lanes(dtype_size(stage(name).outputs[0].dtype()));
  if (own.values.size() != 1 || lanes < 2 || extent_of(along) < 2 * lanes) return;
  if (!may_load_lanes(loads_of(own), along.var)) return;
  const size_t spatial = own.axes.size();
  const std::string loop = schedule_.loops(name).back();
  const int64_t width = rules_.partials * lanes;
  const bool is_long = rules_.partials > 1 && extent_of(along) >= 2 * width;
  std::vector<std::string> partials = {split_into_lanes(name, loop, is_long ? width : lanes)};
  if (is_long && !partials[0].empty()) {
    std::string several = split_into_lanes(name, loop + ".i", lanes);
    if (!several.empty()) (void)schedule_.unroll(several, loop + ".i.o").ok();
    partials.insert(partials.begin(), several);
  }
  for (const std::string& partial : partials) {
    if (spatial > 0 && !partial.empty())
      (void)schedule_.compute_at(partial, name, schedule_.loops(name)[spatial - 1]).ok();
  }
}

void Planner::plan_reduction(const std::string& name) {
  std::vector<std::string> loops = schedule_.loops(name);
  size_t spatial = compute(name)->axes.size();
  if (is_result(stage(name)) && spatial > 0) parallelize(name, {loops.begin(), loops.begin() + 1});
}

}  // namespace byoc::llvm_plugin::topi
