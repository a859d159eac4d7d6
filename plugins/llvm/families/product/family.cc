// SPDX-License-Identifier: Apache-2.0
// Products of matrices in tiles of registers; with a constant matrix that is not in panels yet,
// which is put into panels of columns at compile.

#include <algorithm>

#include "plugins/llvm/families/product/packed.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/points.h"
#include "plugins/llvm/topi/tiled.h"

namespace byoc::llvm_plugin::product {
namespace {

using namespace topi;

constexpr size_t kMostKnobTiles = 32;  // of a knob

std::vector<int64_t> shape_of(const te::Stage& stage) {
  std::vector<int64_t> out;
  for (const te::Expr& extent : stage.outputs[0].shape()) out.push_back(*te::as_int(extent));
  return out;
}

// Returns the axis of the rows of [..., m, n], all of which are multiplied by one matrix: the last
// one before the columns with several, along which an operand is shared. Exporters write tokens as
// [tokens, 1, n], and einsum may have heads after tokens.
size_t row_axis(const te::Compute& compute, const std::vector<int64_t>& shape) {
  const std::vector<const te::Load*> loads = loads_of(compute);
  const te::Var& column = compute.axes.back().var;
  for (size_t d = shape.size() - 1; d-- > 0;) {
    const bool is_shared = std::ranges::any_of(loads, [&](const te::Load* load) {
      return stride_of(*load, compute.axes[d].var) == 0 && stride_of(*load, column) != 0;
    });
    if (shape[d] > 1 && is_shared) return d;
  }
  return shape.size() - 2;
}

// Returns the number of columns of the matrix in a block: the last extent of the operand
// that all rows share.
int64_t block_of(const te::Compute& compute, size_t rows) {
  const te::Var& row = compute.axes[rows].var;
  for (const te::Load* load : loads_of(compute)) {
    const te::Exprs& shape = load->tensor.shape();
    // the last dim of integers: the rows of a lane
    const size_t lane = load->tensor.dtype() == DType::kF32 ? 0 : 1;
    if (stride_of(*load, row) == 0 && shape.size() > lane)
      return te::as_int(shape[shape.size() - 1 - lane]).value_or(1);
  }
  return 1;
}

/// A function whose number of rows is open, or known.
enum class Rows { kOpen, kKnown };

// Tiles [..., m, n] by matrices with blocks of columns.
TilingTemplate packed_tiling(const Sums& sums, size_t rows, size_t rank, Rows kind,
                             const te::Target& target) {
  auto at = [sums, rows, rank, kind, target](const Point& point) {
    const Plan given = plan_at(sums, point);
    const Plan plan = kind == Rows::kOpen ? plan_of_shared_columns(sums, given, target)
                                          : shared_plan(sums, given, target);
    Tiling out;
    out.unrolled = {{rows, plan.tile.cells}};
    out.vectorized = {rank - 1, sums.lanes};
    out.panel = {{rank - 1, plan.o_panel * sums.lanes}, {rows, plan.units}};
    if (plan.chunk < sums.c) out.chunk = {0, plan.chunk * sums.taps};
    return out;
  };
  return {"matmul_packed", point_of(sums, best_plan(sums, target)),
          [sums, target] { return plan_choices(sums, target); }, at};
}

/// Rows by vectors of columns.
struct Matrix {
  size_t rank;
  int64_t m, n, lanes;
  int64_t vectors() const { return std::max<int64_t>(n / lanes, 1); }
};

Choices matrix_choices(const Matrix& matrix, const Point& first, int registers) {
  Knob tiles{"tile", {}};
  std::vector<Point> guesses = {first};
  for (const RegisterTile& tile : good_tiles(matrix.m, matrix.vectors(), registers, 1.6)) {
    if (tiles.values.size() == kMostKnobTiles) break;
    tiles.values.push_back(text_of(tile));
    for (const char* panels : {"0", "1"})
      guesses.push_back({{"tile", tiles.values.back()}, {"col_panels", panels}});
  }
  std::vector<int64_t> panels = {0};
  for (int64_t count : {1, 2, 4, 8, 16}) {
    if (count <= matrix.vectors()) panels.push_back(count);
  }
  return complete({tiles, knob_of("col_panels", panels)}, guesses);
}

// Tiles [..., m, n] with rows as cells. The knob "col_panels" is the number of panels of columns:
//   0:  for each row of tiles, for each tile of columns
//   p:  for each of p panels, for each row of tiles, for each tile of columns of the panel
// Example: n = 40 and tiles of 16 columns. With 0 the last tile is moved back to columns 24 to 39,
// where it gathers from two blocks; in a panel it has the 8 columns that are left. So each tile of
// columns is a panel, whatever the knob, if all rows fit into one tile and either columns are left
// or threads share the row.
TilingTemplate matrix_tiling(const Matrix& matrix, const std::string& kind,
                             const RegisterTile& tile, const te::Target& target) {
  auto at = [matrix, is_shared = target.threads > 1](const Point& point) {
    const RegisterTile tile = tile_at(point, matrix.m, matrix.vectors());
    const int64_t width = tile.vectors * matrix.lanes;
    Tiling out;
    out.unrolled = {{matrix.rank - 2, tile.cells}};
    out.vectorized = {matrix.rank - 1, width};
    const int64_t panels = number_at(point, "col_panels");
    const bool is_row = (is_shared || matrix.n % width != 0) && tile.cells == matrix.m;
    if (panels == 0 && !is_row) return out;
    const int64_t columns = is_row ? width : part_of(matrix.n, panels, width);
    out.panel = {{matrix.rank - 1, columns}, {matrix.rank - 2, 0}};
    return out;
  };
  const Point first = {{"tile", text_of(tile)}, {"col_panels", "0"}};
  const int registers = target.vector_registers;
  return {kind, first, [=] { return matrix_choices(matrix, first, registers); }, at};
}

// Tiles a row, a product that reads each element of its matrix once, in whole panels.
TilingTemplate row_tiling(size_t rank, int64_t n, int64_t block, const te::Target& target) {
  const Matrix matrix{rank, 1, n, block};
  constexpr int64_t kVectors = 8;  // sums that wait for their products
  const int64_t registers = std::max<int64_t>(block / target.lanes(4), 1);
  const int64_t panels = std::clamp<int64_t>(kVectors / registers, 1, matrix.vectors());
  TilingTemplate out = matrix_tiling(matrix, "matmul_packed_row", RegisterTile{1, panels}, target);
  out.is_one_row = true;
  return out;
}

std::optional<TilingTemplate> product_tiling(const te::Stage& anchor, Rows kind,
                                             const te::Target& target) {
  std::vector<int64_t> shape = shape_of(anchor);
  if (shape.size() < 2) return std::nullopt;
  const int64_t m = shape[shape.size() - 2], n = shape.back(), lanes = target.lanes(4);
  if (n < lanes) return std::nullopt;
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  const int64_t k = *te::as_int(compute.reduce[0].extent);
  const bool is_packed = anchor.op == "matmul_packed" || anchor.compute == kPackedCompute;
  const size_t rows = row_axis(compute, shape);
  if (is_packed && shape[rows] > 1 && k > 0) {
    const Sums sums = packed_sums(shape, rows, k, block_of(compute, rows), target);
    return packed_tiling(sums, rows, shape.size(), kind, target);
  }
  if (is_packed) return row_tiling(shape.size(), n, block_of(compute, rows), target);
  const Matrix matrix{shape.size(), m, n, lanes};
  const RegisterTile tile = best_tile(m, matrix.vectors(), target.vector_registers);
  return matrix_tiling(matrix, "matmul", tile, target);
}

template <Rows kind>
std::optional<TilingTemplate> tilings_of(const te::Stage& anchor, const te::Target& target) {
  const bool is_f32 = anchor.outputs[0].dtype() == DType::kF32;
  const bool is_product =
      is_f32 && (anchor.op == "matmul" || anchor.op == "gemm" || anchor.op == "matmul_packed");
  const bool is_packed =
      (anchor.op == "matmul_integers" || anchor.op == "einsum") && anchor.compute == kPackedCompute;
  return is_product || is_packed ? product_tiling(anchor, kind, target) : std::nullopt;
}

std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  return topi::tiled(dag, target,
                     dag.sizes.empty() ? tilings_of<Rows::kKnown> : tilings_of<Rows::kOpen>);
}

}  // namespace

extern const Family kFamily{
    .name = "product", .add_computes = add_computes, .schedules = schedules};

}  // namespace byoc::llvm_plugin::product
