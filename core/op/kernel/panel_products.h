// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of the rows of two matrices, of which the first is in panels: the rows of a panel are
// the lanes of vectors, so that sums are stored as they are and no lanes are added up.
#include <algorithm>

#include "byoc/base/check.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {

/// Computes sum over k of a(row, k) * x(column, k) for all rows and columns, where `a` is read from
/// panels[p, k, r] = a(p * height() + r, k), with zeros after the last row:
///   for p in panels:
///     for j in tiles of columns:
///       for k: sums[columns][height()] += panels[p, k, ..] * x[columns][k]
///       give(row, column, sums)
/// A panel is one stream through memory.
struct PanelProducts {
  static constexpr int64_t kColumns = 6, kMaxVectors = 8;

  DType dtype;    // of the sums
  int64_t rows;   // 1 or more
  Expr columns;   // the same, or as many as a run gives
  int64_t terms;  // 1 or more
  int64_t lanes;  // of a vector of the machine; registers are 32 with 16 lanes or more
  std::function<Expr(Expr p, Expr k, Expr r)> panels = {};
  std::function<Expr(Expr column, Expr k)> x = {};
  std::function<te::Stmt(Expr row, Expr column, Expr sum)> give = {};
  te::LoopKind kind = te::LoopKind::kSerial;           // of the loop over panels
  Expr from_last = te::int_constant(DType::kBool, 0);  // panels begin with the last one

  int64_t tile_columns() const {
    return std::clamp<int64_t>(te::bounds_of(columns).hi, 1, kColumns);
  }
  /// Returns the vectors of a panel's row: as many as there are registers for, with the sums of all
  /// columns of a tile and one number of `x`.
  int64_t vectors() const {
    const int64_t registers = lanes >= 16 ? 32 : 16;
    const int64_t most = std::min((rows + lanes - 1) / lanes, kMaxVectors);
    return std::clamp<int64_t>((registers - 1) / (tile_columns() + 1), 1,
                               std::max(most, int64_t{1}));
  }
  int64_t height() const { return vectors() * lanes; }
  int64_t panel_count() const { return (rows + height() - 1) / height(); }

  te::Stmt stmt() const {
    BYOC_CHECK(rows > 0 && te::bounds_of(columns).hi > 0 && terms > 0 && lanes > 0, "panels of ",
               rows, " x ", te::print(columns), " x ", terms, " in ", lanes, " lanes");
    const int64_t full = rows / height(), rest = rows % height();
    te::Stmt all = te::loop(
        "panel", full,
        [&](Expr p) { return panel(select(from_last, Expr(full - 1) - p, p), height()); }, kind);
    return te::make_block(
        {full == 0 ? te::Stmt() : all, rest == 0 ? te::Stmt() : panel(full, rest)});
  }

 private:
  using Body = std::function<te::Stmt(Expr c, Expr r)>;

  // Computes a panel, of which `height` rows are rows of `a`, for all columns.
  te::Stmt panel(const Expr& p, int64_t height) const {
    const int64_t width = tile_columns();
    const Expr full = te::simplify(floor_div(columns, width));
    const Expr rest = te::simplify(floor_mod(columns, width));
    te::Stmt tiles =
        te::loop("tile", full, [&](Expr j) { return tile(p, height, j * width, width); });
    if (const auto known = as_int(rest)) {
      te::Stmt last =
          *known == 0 ? te::Stmt() : tile(p, height, te::simplify(columns - rest), *known);
      return te::make_block({tiles, last});
    }
    return te::make_block({tiles, open_rest(p, height, full * width, rest, width)});
  }

  // Computes the columns from `first` on, fewer than `width`, in one tile: panels are read once.
  te::Stmt open_rest(const Expr& p, int64_t height, const Expr& first, const Expr& rest,
                     int64_t width) const {
    std::vector<te::Stmt> out;
    for (int64_t columns = 1; columns < width; ++columns)
      out.push_back(te::make_if(rest == Expr(columns), tile(p, height, first, columns)));
    return te::make_block(std::move(out));
  }

  // Returns the statements of `body` for the first `height` rows of `width` columns, in vectors.
  te::Stmt each(int64_t height, int64_t width, const Body& body) const {
    auto lanes_of = [&](const Expr& c, const Expr& first, int64_t count) {
      return te::loop(
          "l", count, [&](Expr l) { return body(c, first + l); }, te::LoopKind::kVectorized);
    };
    const int64_t full = height / lanes, rest = height % lanes;
    auto column = [&](Expr c) {
      te::Stmt whole = te::loop(
          "v", full, [&](Expr v) { return lanes_of(c, v * lanes, lanes); },
          te::LoopKind::kUnrolled);
      return te::make_block({full == 0 ? te::Stmt() : whole,
                             rest == 0 ? te::Stmt() : lanes_of(c, full * lanes, rest)});
    };
    return te::loop("c", width, column, te::LoopKind::kUnrolled);
  }

  te::Stmt tile(const Expr& p, int64_t valid, const Expr& column, int64_t width) const {
    const Tensor sums("sums", dtype, {width, height()});
    te::Stmt clear = each(height(), width, [&](Expr c, Expr r) {
      return te::make_store(sums, {c, r}, zero(dtype));
    });
    te::Stmt add = te::loop("k", terms, [&](Expr k) {
      return each(height(), width, [&](Expr c, Expr r) {
        return te::make_store(sums, {c, r}, sums(c, r) + panels(p, k, r) * x(column + c, k));
      });
    });
    te::Stmt end = each(valid, width, [&](Expr c, Expr r) {
      return give(p * height() + r, column + c, sums(c, r));
    });
    return te::make_alloc(sums, te::Scope::kStack, te::make_block({clear, add, end}));
  }
};

}  // namespace byoc::op
