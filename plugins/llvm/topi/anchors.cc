// SPDX-License-Identifier: Apache-2.0
// Chooses the tile of an anchor.
#include "plugins/llvm/topi/anchors.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/cost_model.h"
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/conv_tiling.h"

namespace byoc::llvm_plugin::topi {
namespace {

std::vector<int64_t> shape_of(const te::Stage& stage) {
  std::vector<int64_t> out;
  for (const te::Expr& extent : stage.outputs[0].shape()) out.push_back(*te::as_int(extent));
  return out;
}

// Returns the number of columns of the matrix in a block: the last extent of the operand
// that all rows share.
int64_t block_of(const te::Compute& compute) {
  const te::Var& row = compute.axes[compute.axes.size() - 2].var;
  for (const te::Load* load : loads_of(compute)) {
    if (stride_of(*load, row) == 0) return te::as_int(load->tensor.shape().back()).value_or(1);
  }
  return 1;
}

// Tiles [..., m, n] by matrices with blocks of `block` columns.
Tiling packed_tiling(const std::vector<int64_t>& shape, int64_t k, int64_t block,
                     const te::Target& target) {
  constexpr int64_t kTaps = 8;
  Sums sums{.units = shape[shape.size() - 2], .is_flat = true, .may_join_blocks = false};
  sums.registers = std::max<int64_t>(block / target.lanes(4), 1);
  sums.lanes = block;
  sums.o = shape.back() / block;
  for (size_t d = 0; d + 2 < shape.size(); ++d) sums.n *= shape[d];
  sums.taps = k % kTaps == 0 ? kTaps : 1;
  sums.c = k / sums.taps;
  sums.block_bytes = sums.taps * 4;
  const Plan plan = best_plan(sums, target);
  Tiling out;
  out.unrolled = {{shape.size() - 2, plan.tile.cells}};
  out.vectorized = {shape.size() - 1, sums.lanes};
  out.panel = {{shape.size() - 1, plan.o_panel * sums.lanes}, {shape.size() - 2, plan.units}};
  if (plan.chunk < sums.c) out.chunk = {0, plan.chunk * sums.taps};
  return out;
}

// Tiles [..., m, n] with rows as cells.
std::optional<Tiling> matrix_tiling(const te::Stage& anchor, const te::Target& target) {
  std::vector<int64_t> shape = shape_of(anchor);
  if (shape.size() < 2) return std::nullopt;
  const int64_t m = shape[shape.size() - 2], n = shape.back(), lanes = target.lanes(4);
  if (n < lanes) return std::nullopt;
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  const int64_t k = *te::as_int(compute.reduce[0].extent);
  if (anchor.op == "matmul_packed" && m > 1 && k > 0)
    return packed_tiling(shape, k, block_of(compute), target);
  RegisterTile tile = best_tile(m, std::max<int64_t>(n / lanes, 1), target.vector_registers);
  Tiling out;
  out.unrolled = {{shape.size() - 2, tile.cells}};
  out.vectorized = {shape.size() - 1, tile.vectors * lanes};
  return out;
}

std::optional<Tiling> tiling_of(const te::Stage& anchor, const te::Target& target) {
  const te::Tensor& y = anchor.outputs[0];
  for (const te::Expr& extent : y.shape()) {
    if (te::as_int(extent).value_or(0) < 1) return std::nullopt;
  }
  if (y.dtype() != DType::kF32) return std::nullopt;
  if (anchor.op == "conv2d_nchwc") return conv_tiling(anchor, target);
  if (anchor.op == "matmul" || anchor.op == "gemm" || anchor.op == "matmul_packed")
    return matrix_tiling(anchor, target);
  return std::nullopt;
}

}  // namespace

te::ScheduleProvider anchor_schedules(const te::Target& target) {
  return [target](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    std::optional<AnchorDag> what = find_anchor_stage(dag);
    if (!what) return std::nullopt;
    std::optional<Tiling> tiling = tiling_of(dag.stages[what->anchor], target);
    if (!tiling) return std::nullopt;
    return tile_anchor(dag, *what, *tiling);
  };
}

}  // namespace byoc::llvm_plugin::topi
