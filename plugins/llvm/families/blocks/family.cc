// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices of few bits: schedules.
#include <algorithm>
#include <string>

#include "byoc/base/check.h"
#include "plugins/llvm/families/blocks/compute.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/points.h"
#include "plugins/llvm/topi/tiled.h"

namespace byoc::llvm_plugin::blocks {
namespace {

using topi::Point;
using topi::Tiling;

std::vector<int64_t> extents_of(const te::Stage& stage) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < stage.outputs[0].rank(); ++d) out.push_back(topi::extent_at(stage, d));
  return out;
}

// Returns the number of panels that a tile reads side by side. Memory gives more to a core that
// reads several places in turn: a row by f16 took 1.0, 0.8 and 0.7 of the time with 1, 2 and 4
// panels on an EPYC of family 25, model 1. Words of 4 bits wait for their unpacking instead, and
// the sums of several rows need the registers.
int64_t panels_of(const std::vector<int64_t>& shape, const te::Compute& compute) {
  auto is_word = [](const te::Load* load) { return load->tensor.dtype() == DType::kI32; };
  const bool has_words = std::ranges::any_of(topi::loads_of(compute), is_word);
  return shape[shape.size() - 2] == 1 && !has_words ? 4 : 1;
}

// Tiles few rows: all of them by one or several panels, each of which is read once. The second of
// two reduce axes has the entries of a word, which are written out.
topi::TilingTemplate rows_tiling(const std::vector<int64_t>& shape, const te::Compute& compute,
                                 int64_t columns) {
  const size_t rank = shape.size(), reduce_axes = compute.reduce.size();
  auto at = [=](const Point& point) {
    const int64_t width = columns * topi::number_at(point, "width");
    Tiling out;
    out.unrolled = {{rank - 2, shape[rank - 2]}};
    out.vectorized = {rank - 1, width};
    out.panel = {{rank - 1, width}, {rank - 2, 0}};
    if (reduce_axes > 1) out.unrolled_reduce = {1};
    return out;
  };
  const Point first = {{"width", std::to_string(panels_of(shape, compute))}};
  return {"narrow_rows", first,
          [=] {
            return topi::complete({topi::knob_of("width", {1, 2, 4})}, {first});
          },
          at, shape[rank - 2] == 1};
}

// Tiles of rows that are integers: each word of a panel is unpacked for the rows of a tile.
topi::TilingTemplate integers_tiling(const std::vector<int64_t>& shape, const te::Target& target,
                                     int64_t columns) {
  const size_t rank = shape.size();
  const int64_t most = target.vector_registers >= 32 ? 4 : 2;
  const int64_t cells = std::min(shape[rank - 2], most);
  auto at = [=](const Point& point) {
    Tiling out;
    out.unrolled = {{rank - 2, cells}};
    out.vectorized = {rank - 1, columns * topi::number_at(point, "width")};
    out.panel = {{rank - 1, columns * topi::number_at(point, "width")}, {rank - 2, 0}};
    return out;
  };
  const Point first = {{"width", cells == 1 ? "2" : "1"}};
  return {"narrow_integers", first,
          [=] {
            return topi::complete({topi::knob_of("width", {1, 2})}, {first});
          },
          at};
}

// Returns the plan whose panels of the matrix, as f32, stay in the second cache, and which unpacks
// each once if it can.
topi::Plan plan_of(const topi::Sums& sums, const te::Target& target) {
  const std::vector<topi::Plan> all = topi::ranked_plans(sums, target);
  BYOC_CHECK(!all.empty(), "no plan of a product");
  auto fits = [&](const topi::Plan& plan) {
    return sums.weight_bytes(plan.o_panel, plan.chunk) <= target.l2_bytes / 2;
  };
  const auto whole = std::ranges::find_if(
      all, [&](const topi::Plan& plan) { return fits(plan) && plan.units == sums.units; });
  if (whole != all.end()) return *whole;
  const auto some = std::ranges::find_if(all, fits);
  return some != all.end() ? *some : all[0];
}

topi::TilingTemplate unpacked_tiling(const std::vector<int64_t>& shape, int64_t k, int64_t columns,
                                     const te::Target& target) {
  const size_t rank = shape.size();
  topi::Sums sums{.units = shape[rank - 2], .is_flat = true, .may_join_blocks = false};
  sums.registers = std::max<int64_t>(columns / target.lanes(sizeof(float)), 1);
  sums.lanes = columns;
  sums.o = (shape.back() + columns - 1) / columns;
  for (size_t d = 0; d + 2 < rank; ++d) sums.n *= shape[d];
  sums.taps = kEntries, sums.c = k / kEntries;
  sums.block_bytes = kEntries * 4, sums.row_bytes = k * 4;
  auto at = [=](const Point& point) {
    const topi::Plan plan = topi::plan_at(sums, point);
    Tiling out;
    out.unrolled = {{rank - 2, plan.tile.cells}};
    out.vectorized = {rank - 1, sums.lanes};
    out.panel = {{rank - 1, plan.o_panel * sums.lanes}, {rank - 2, plan.units}};
    if (plan.chunk < sums.c) out.chunk = {0, plan.chunk * kEntries};
    return out;
  };
  return {"narrow_unpacked", topi::point_of(sums, plan_of(sums, target)),
          [sums, target] { return topi::plan_choices(sums, target); }, at};
}

std::optional<topi::TilingTemplate> tilings_of(const te::Stage& anchor, const te::Target& target) {
  const std::vector<int64_t> shape = extents_of(anchor);
  const te::Compute* compute = topi::compute_of(anchor);
  if (shape.size() < 2 || compute == nullptr) return std::nullopt;
  const int64_t columns = panel_columns(target);
  if (anchor.compute == kRowsCompute) return rows_tiling(shape, *compute, columns);
  if (anchor.compute == kIntegersCompute) return integers_tiling(shape, target, columns);
  if (anchor.compute != kUnpackedCompute) return std::nullopt;
  return unpacked_tiling(shape, topi::extent_of(compute->reduce[0]), columns, target);
}

bool owns(std::string_view compute) {
  return compute == kRowsCompute || compute == kUnpackedCompute || compute == kIntegersCompute;
}

std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  std::optional<topi::Template> out = topi::tiled(dag, target, tilings_of);
  return out ? std::move(out) : topi::tiled_and_stored(dag, target, tilings_of);
}

}  // namespace

extern const Family kFamily{
    .name = "blocks", .add_computes = add_computes, .owns = owns, .schedules = schedules};

}  // namespace byoc::llvm_plugin::blocks
