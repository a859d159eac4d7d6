// Which tile an anchor gets.
#include "plugins/llvm/topi/anchors.h"

#include <algorithm>
#include <cmath>

#include "plugins/llvm/topi/tile.h"

namespace byoc::llvm_plugin::topi {
namespace {

// What a tile of `cells` x `vectors` sums costs per term, in cycles: two multiply-adds a cycle,
// each waits four for the one before it, two loads a cycle. Source: Zen 3 and Skylake, Agner Fog's
// instruction tables; other AVX2 machines differ little.
double cycles(int64_t cells, int64_t vectors) {
  return std::max(
      {static_cast<double>(cells * vectors) / 2, 4.0, static_cast<double>(cells + vectors) / 2});
}

struct Tile {
  int64_t cells = 1, vectors = 1;
};

// The tile with the fewest cycles for a row of `cells` by `vectors` vectors, parted in whole
// vectors. The registers hold the sums, the vectors of one term and a cell, or, where the loops may
// change places, its cells and a vector.
Tile best_tile(int64_t cells, int64_t vectors, int registers, bool may_swap) {
  Tile best;
  double least = INFINITY;
  for (int64_t v = 1; v <= std::min<int64_t>(vectors, registers); ++v) {
    if (vectors % v != 0) continue;
    for (int64_t c = 1; c <= std::min<int64_t>(cells, registers); ++c) {
      if (c * v + (may_swap ? std::min(c, v) : v) + 1 > registers) break;
      double total = static_cast<double>(cells / c) * cycles(c, v);
      if (cells % c != 0) total += cycles(cells % c, v);
      total *= static_cast<double>(vectors / v);
      if (total < least) least = total, best = {c, v};
    }
  }
  return best;
}

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

std::optional<Tiling> conv_nchwc_tiling(const te::Stage& anchor, const te::Target& target) {
  std::vector<int64_t> shape = shape_of(anchor);  // [n, c / 8, h, w, 8]
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  std::vector<int64_t> terms;  // [c / i, kh, kw, i]
  for (const te::Axis& axis : compute.reduce) terms.push_back(*te::as_int(axis.extent));
  if (shape.size() != 5 || terms.size() != 4) return std::nullopt;
  Tile tile = best_tile(shape[3], shape[1], target.vector_registers, true);
  Tiling out;
  // The shorter side inside: its operands stay in registers while the longer one goes by.
  out.unrolled = {{3, tile.cells}, {1, tile.vectors}};
  if (tile.cells < tile.vectors) std::swap(out.unrolled[0], out.unrolled[1]);
  out.vectorized = {4, shape[4]};
  if (terms[3] <= 16) out.unrolled_reduce = {3};
  const int64_t term_bytes = terms[1] * terms[2] * terms[3] * tile.vectors * shape[4] * 4;
  if (terms[0] * term_bytes > target.l2_bytes / 2) {
    out.chunk = {0, chunk_of(terms[0], target.l2_bytes / 8 / term_bytes)};
    out.panel = {{1, tile.vectors}, {2, 0}, {3, 0}, {4, 0}};
  }
  // All weights stay in the second cache while a row is read once, where they fit; else the image
  // is read again for the next channels.
  const bool fits = shape[1] / tile.vectors * terms[0] * term_bytes <= target.l2_bytes / 2;
  if (out.chunk.factor == 0 && fits) out.order = {0, 2, 1, 3, 4};
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
  Tile tile = best_tile(m, std::max<int64_t>(n / lanes, 1), target.vector_registers, false);
  if (anchor.op == "matmul_packed") tile = {std::min<int64_t>(m, 6), 2};
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
  if (anchor.op == "conv2d_nchwc") return conv_nchwc_tiling(anchor, target);
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
