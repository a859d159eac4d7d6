// Which tile an anchor gets.
#include "plugins/llvm/topi/anchors.h"

#include <algorithm>
#include <cmath>

#include "plugins/llvm/topi/conv_tiling.h"
#include "plugins/llvm/topi/register_tile.h"
#include "plugins/llvm/topi/tile.h"

namespace byoc::llvm_plugin::topi {
namespace {

// The greatest divisor of `terms` that is at most `most`.
int64_t chunk_of(int64_t terms, int64_t most) {
  for (int64_t chunk = std::min(terms, most); chunk > 1; --chunk) {
    if (terms % chunk == 0) return chunk;
  }
  return 1;
}

std::vector<int64_t> shape_of(const te::Stage& stage) {
  std::vector<int64_t> out;
  for (const te::Expr& extent : stage.outputs[0].shape()) out.push_back(*te::as_int(extent));
  return out;
}

// From this many terms on a row of a tile is read in chunks: 6 rows of 768 and 768 x 16 weights are
// 64 KiB, an eighth of the second cache. Shorter rows are faster at once (measured on Zen 3).
constexpr int64_t kLongRow = 1024, kChunk = 768;

// [..., m, n]: rows as cells.
std::optional<Tiling> matrix_tiling(const te::Stage& anchor, const te::Target& target) {
  std::vector<int64_t> shape = shape_of(anchor);
  if (shape.size() < 2) return std::nullopt;
  const int64_t m = shape[shape.size() - 2], n = shape.back(), lanes = target.lanes(4);
  if (n < lanes) return std::nullopt;
  RegisterTile tile = best_tile(m, std::max<int64_t>(n / lanes, 1), target.vector_registers);
  if (anchor.op == "matmul_packed" && m > 1) tile = {std::min<int64_t>(m, 6), 2};
  Tiling out;
  out.unrolled = {{shape.size() - 2, tile.cells}};
  out.vectorized = {shape.size() - 1, tile.vectors * lanes};
  const int64_t k = *te::as_int(std::get<te::Compute>(anchor.kind).reduce[0].extent);
  if (k > kLongRow && chunk_of(k, kChunk) > kChunk / 4 && m > tile.cells) {
    out.chunk = {0, chunk_of(k, kChunk)};
    out.panel = {{shape.size() - 2, m <= 256 ? 0 : chunk_of(m, 192)},
                 {shape.size() - 1, tile.vectors * lanes}};
  }
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
