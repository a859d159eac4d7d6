// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/pool/windows.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::pool {
namespace {

using namespace topi;

constexpr int64_t kPoolCells = 6;  // separate results, each with a chain of dependent steps
constexpr int64_t kPoolCellsOfManyRegisters = 8;

// Returns true for f32, of which there are lanes in a vector, and for integers of 8 bits: a part of
// a vector of these is loaded and stored as fast.
bool has_lanes(const te::Stage& stage) {
  const DType dtype = stage.outputs[0].dtype();
  if (dtype == DType::kF32) return stage.op == "max_pool" || stage.op == "average_pool";
  return stage.op == "max_pool" && (dtype == DType::kU8 || dtype == DType::kI8);
}

// Returns true for y[n, blocks, h, w, lanes] over [rows, columns, 1] of a window.
bool is_pool(const te::Stage& stage) {
  if (!has_lanes(stage)) return false;
  const te::Compute& compute = std::get<te::Compute>(stage.kind);
  auto is_known = [](const te::Axis& axis) { return extent_of(axis) >= 1; };
  return compute.axes.size() == 5 && compute.reduce.size() == 3 &&
         std::ranges::all_of(compute.axes, is_known) &&
         std::ranges::all_of(compute.reduce, is_known) && extent_of(compute.reduce[2]) == 1 &&
         extent_of(compute.reduce[1]) <= kMostPoolColumns;
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const std::optional<Windows> windows = windows_of(call.site);
  if (!windows || (!windows->is_max && has_exact_sums(call.site))) return;
  const double direct = direct_cycles_of(*windows), cycles = cycles_of(*windows);
  out.front().cost_ns = cost_of(direct);
  te::Strategy by_axes{.name = kWindowsCompute, .level = cycles < direct ? kPreferred : kPossible};
  by_axes.compute = by_axis(*windows);
  by_axes.cost_ns = cost_of(cycles);
  by_axes.has_generic_schedule = false;
  out.push_back(std::move(by_axes));
}

std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  if (has_windows(dag)) {
    auto at = [&dag, target](const Point&) { return schedule_windows(dag, target); };
    return Template{"pool_by_axis", {}, [] { return complete({}, {Point()}); }, at};
  }
  std::optional<AnchorDag> what = find_anchor_of_rows(dag);
  if (!what || !is_pool(dag.stages[what->anchor])) return std::nullopt;
  const te::Compute& pool = std::get<te::Compute>(dag.stages[what->anchor].kind);
  const int64_t block = extent_of(pool.axes[4]), lanes = target.lanes(4);
  if (block != lanes && (block != lanes / 2 || block < 8)) return std::nullopt;
  const RowShape shape{extent_of(pool.axes[0]), extent_of(pool.axes[1]), extent_of(pool.axes[2]),
                       extent_of(pool.axes[3]), extent_of(pool.reduce[1])};
  // Steps of different cells, one after the other, do not wait for each other, but need a register
  // for each element of the image.
  const bool has_many = target.vector_registers >= 32;
  const int64_t cells = even_tile(shape.w, has_many ? kPoolCellsOfManyRegisters : kPoolCells);
  const Taps taps = has_many ? Taps::kAroundCells : Taps::kInCells;
  const RowTiling first{cells, 1, taps, {"r2", "r0"}, "r1"};
  return row_template("pool", dag, *what, shape, first, target);
}

}  // namespace

extern const Family kFamily{.name = "pool", .add_computes = add_computes, .schedules = schedules};

}  // namespace byoc::llvm_plugin::pool
