// SPDX-License-Identifier: Apache-2.0
// Chooses the tile of an anchor.
#include "plugins/llvm/topi/anchors.h"

#include <algorithm>

#include "plugins/llvm/attention/schedule.h"
#include "plugins/llvm/strassen/schedule.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/conv_tiling.h"
#include "plugins/llvm/topi/points.h"
#include "plugins/llvm/topi/schedule.h"
#include "plugins/llvm/topi/strategies.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr size_t kMostKnobTiles = 32;  // of a knob

std::vector<int64_t> shape_of(const te::Stage& stage) {
  std::vector<int64_t> out;
  for (const te::Expr& extent : stage.outputs[0].shape()) out.push_back(*te::as_int(extent));
  return out;
}

// Returns the axis of the rows of [..., m, n], all of which are multiplied by one matrix: the last
// one before the columns with several. Exporters write tokens as [tokens, 1, n].
size_t row_axis(const std::vector<int64_t>& shape) {
  for (size_t d = shape.size() - 1; d-- > 0;) {
    if (shape[d] > 1) return d;
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

Sums packed_sums(const std::vector<int64_t>& shape, size_t rows, int64_t k, int64_t block,
                 const te::Target& target) {
  constexpr int64_t kTaps = 8;
  Sums sums{.units = shape[rows], .is_flat = true, .may_join_blocks = false};
  sums.registers = std::max<int64_t>(block / target.lanes(4), 1);
  sums.lanes = block;
  sums.o = (shape.back() + block - 1) / block;
  for (size_t d = 0; d < rows; ++d) sums.n *= shape[d];
  sums.taps = k % kTaps == 0 ? kTaps : 1;
  sums.c = k / sums.taps;
  sums.block_bytes = sums.taps * 4;
  sums.row_bytes = k * 4;
  return sums;
}

// Tiles [..., m, n] by matrices with blocks of columns.
TilingTemplate packed_tiling(const Sums& sums, size_t rows, size_t rank, const te::Target& target) {
  auto at = [sums, rows, rank, target](const Point& point) {
    const Plan plan = shared_plan(sums, plan_at(sums, point), target);
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
  return matrix_tiling(matrix, "matmul_packed_row", RegisterTile{1, panels}, target);
}

std::optional<TilingTemplate> product_tiling(const te::Stage& anchor, const te::Target& target) {
  std::vector<int64_t> shape = shape_of(anchor);
  if (shape.size() < 2) return std::nullopt;
  const int64_t m = shape[shape.size() - 2], n = shape.back(), lanes = target.lanes(4);
  if (n < lanes) return std::nullopt;
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  const int64_t k = *te::as_int(compute.reduce[0].extent);
  const bool is_packed = anchor.op == "matmul_packed" || anchor.compute == kPackedCompute;
  const size_t rows = row_axis(shape);
  if (is_packed && shape[rows] > 1 && k > 0) {
    const Sums sums = packed_sums(shape, rows, k, block_of(compute, rows), target);
    return packed_tiling(sums, rows, shape.size(), target);
  }
  if (is_packed) return row_tiling(shape.size(), n, block_of(compute, rows), target);
  const Matrix matrix{shape.size(), m, n, lanes};
  const RegisterTile tile = best_tile(m, matrix.vectors(), target.vector_registers);
  return matrix_tiling(matrix, "matmul", tile, target);
}

// Returns the target with the registers that tiles may have: where products are pairs of i16, one
// of them holds a product until it is added.
te::Target target_of_tiles(const te::Stage& anchor, te::Target target) {
  if (has_pairs(std::get<te::Compute>(anchor.kind))) --target.vector_registers;
  return target;
}

std::optional<TilingTemplate> tiling_of(const te::Stage& anchor, const te::Target& target) {
  const te::Tensor& y = anchor.outputs[0];
  for (const te::Expr& extent : y.shape()) {
    if (te::as_int(extent).value_or(0) < 1) return std::nullopt;
  }
  if (anchor.op == "conv2d_nchwc_integers" && anchor.compute != "direct")
    return conv_tiling(anchor, target_of_tiles(anchor, target));
  if (anchor.op == "matmul_integers" && anchor.compute == kPackedCompute)
    return product_tiling(anchor, target_of_tiles(anchor, target));
  if (y.dtype() != DType::kF32) return std::nullopt;
  if (anchor.op == "conv2d_nchwc") return conv_tiling(anchor, target);
  if (anchor.op == "matmul" || anchor.op == "gemm" || anchor.op == "matmul_packed")
    return product_tiling(anchor, target);
  return std::nullopt;
}

// Tiles the products of quarters of matrices. The knob "tile" is rows by the one block of columns.
std::optional<Template> strassen_template(const te::Dag& dag, const te::Target& target) {
  if (strassen::has_panels_alone(dag)) {
    auto at = [&dag](const Point&) { return strassen::schedule_panels(dag); };
    return Template{"strassen_panels", {}, [] { return complete({}, {Point()}); }, at};
  }
  const std::optional<strassen::Product> product = strassen::find_product(dag);
  if (!product) return std::nullopt;
  const Sums sums =
      packed_sums({product->rows(), product->n / 2}, 0, product->terms(), product->block, target);
  const Point first = {{"tile", text_of(best_plan(sums, target).tile)}};
  auto at = [&dag, target, rows = product->rows()](const Point& point) {
    return strassen::schedule_products(dag, tile_at(point, rows, 1).cells, target);
  };
  auto choices = [sums, target, first] {
    const Choices plans = plan_choices(sums, target);
    return complete({*std::ranges::find(plans.knobs, "tile", &Knob::name)}, {first});
  };
  const bool is_image = std::ranges::any_of(dag.stages, [](const te::Stage& stage) {
    return stage.op == "conv2d_nchwc" && stage.compute == strassen::kCompute;
  });
  return Template{is_image ? "conv2d_strassen" : "matmul_strassen", first, choices, at};
}

// Computes attention in blocks of queries. The knob "rows" is the number of queries of a block,
// "tile" the tile of the scores, "values_tile" that of the product with the values. Dags that this
// schedule refuses have the default one.
std::optional<Template> attention_template(const te::Dag& dag, const te::Target& target) {
  const std::optional<attention::Shape> shape = attention::find_shape(dag);
  if (!shape) return std::nullopt;
  const attention::Plan plan = attention::best_plan(*shape, target);
  const Point first = {{"rows", cat(plan.rows)},
                       {"tile", text_of(plan.scores)},
                       {"values_tile", text_of(plan.results)}};
  auto at = [&dag, shape = *shape, target](const Point& point) {
    const int64_t lanes = target.lanes(sizeof(float));
    attention::Plan plan{.rows = std::min(number_at(point, "rows"), shape.rows)};
    auto tile = [&](const char* knob, int64_t columns) {
      return tile_at({{"tile", point.at(knob)}}, plan.rows, (columns + lanes - 1) / lanes);
    };
    plan.scores = tile("tile", shape.keys), plan.results = tile("values_tile", shape.columns);
    Result<te::Schedule> out = attention::schedule_blocks(dag, plan, target);
    if (out.ok()) return out;
    const Template plain = default_template(dag, target);
    return plain.at(plain.first);
  };
  auto choices = [shape = *shape, first, target] {
    auto tiles = [&](const char* name, int64_t columns) {
      Knob out{name, {}};
      for (const RegisterTile& tile : attention::tiles_of(shape.rows, columns, target)) {
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

}  // namespace

std::optional<Template> anchor_template(const te::Dag& dag, const te::Target& target) {
  if (std::optional<Template> found = attention_template(dag, target)) return found;
  if (std::optional<Template> found = winograd_template(dag, target)) return found;
  if (std::optional<Template> found = strassen_template(dag, target)) return found;
  std::optional<AnchorDag> what = find_anchor_stage(dag);
  if (!what) return std::nullopt;
  std::optional<TilingTemplate> tiling = tiling_of(dag.stages[what->anchor], target);
  if (!tiling) return std::nullopt;
  auto at = [&dag, what = *what, tiling = tiling->at](const Point& point) {
    return tile_anchor(dag, what, tiling(point));
  };
  return Template{tiling->kind, tiling->first, tiling->choices, at};
}

}  // namespace byoc::llvm_plugin::topi
