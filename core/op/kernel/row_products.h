// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of the rows of two matrices, as statements in vectors: both operands are read along
// memory, so neither is packed.
#include <algorithm>

#include "byoc/base/check.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {

/// Computes sum over k of a(row, k) * x(column, k) for all rows and columns. Four rows, which are a
/// quarter of all rows apart, and three columns make a tile whose partial sums stay in registers:
///   for i in [0, rows / 4):       // i, i + rows / 4, i + rows / 2, ...
///     for j in [0, columns / 3):  // 3 j, 3 j + 1, 3 j + 2
///       for k in vectors of terms: sums[4][3] += a[4][k] * x[3][k]
///       give(row, column, total of the lanes)
/// Each of the four rows is the next part of one stream through `a`, which suits prefetchers.
struct RowProducts {
  static constexpr int64_t kRows = 4, kColumns = 3;
  static constexpr int64_t kVectorBytes = 32;
  static constexpr int64_t kTilesInBlock = 32;  // x of a block of columns stays in the second cache

  DType dtype;    // of the sums
  int64_t rows;   // 0 or more
  Expr columns;   // the same; a run may give them
  int64_t terms;  // 0 or more
  std::function<Expr(Expr row, Expr k)> a;
  std::function<Expr(Expr column, Expr k)> x;
  std::function<te::Stmt(Expr row, Expr column, Expr sum)> give;
  te::LoopKind kind = te::LoopKind::kSerial;           // of the loop over rows
  Expr from_last = te::int_constant(DType::kBool, 0);  // tiles of rows begin with the last one

  /// Returns the statements. The partial sums are in memory that they allocate on the stack.
  te::Stmt stmt() const {
    BYOC_CHECK(rows >= 0 && terms >= 0, "products of ", rows, " x ", te::print(columns), " x ",
               terms);
    const Expr all = te::simplify(floor_div(columns, kColumns));
    const Expr blocks = te::simplify(max(floor_div(all + (kTilesInBlock - 1), kTilesInBlock), 1));
    if (as_int(blocks) == 1) return block(0, all, true);
    return te::loop("block", blocks, [&](Expr at) {
      Expr first = at * kTilesInBlock;
      Expr tiles = min(Expr(kTilesInBlock), all - first);
      return te::make_block({block(first, tiles, false),
                             te::make_if(at == te::simplify(blocks - 1), block(0, 0, true))});
    });
  }

 private:
  /// The corner and the extents of a tile.
  struct Tile {
    int64_t rows, columns, parts;  // parts: vectors of terms that are summed separately
    Expr row, column;
    int64_t row_step;
    Tensor sums;  // [rows, columns, parts, lanes]
  };
  using TileBody = std::function<te::Stmt(Expr r, Expr c, Expr p)>;

  int64_t lanes() const { return kVectorBytes / static_cast<int64_t>(dtype_size(dtype)); }

  // Computes all rows for `tiles` tiles of columns, and for those that are left over.
  te::Stmt block(const Expr& first, const Expr& tiles, bool with_rest) const {
    auto over_columns = [&](int64_t height, const Expr& row, int64_t step) {
      te::Stmt full = te::loop("tile", tiles, [&](Expr j) {
        return tile(height, kColumns, row, (first + j) * kColumns, step);
      });
      te::Stmt last = with_rest ? rest_of(height, row, step) : te::Stmt();
      return te::make_block({as_int(tiles) == 0 ? te::Stmt() : full, last});
    };
    const int64_t step = rows / kRows, rest = rows % kRows;
    te::Stmt quarters, others;
    auto tile_of_rows = [&](Expr i) {
      return over_columns(kRows, select(from_last, Expr(step - 1) - i, i), step);
    };
    if (step > 0) quarters = te::loop("row", step, tile_of_rows, kind);
    if (rest > 0)
      others = te::loop("row", rest, [&](Expr i) { return over_columns(1, i + step * kRows, 0); });
    return te::make_block({quarters, others});
  }

  // Computes the columns that tiles leave.
  te::Stmt rest_of(int64_t height, const Expr& row, int64_t step) const {
    const Expr rest = te::simplify(floor_mod(columns, kColumns));
    const Expr column = te::simplify(columns - rest);
    if (const auto known = as_int(rest))
      return *known == 0 ? te::Stmt() : tile(height, *known, row, column, step);
    std::vector<te::Stmt> out;
    for (int64_t width = 1; width < kColumns; ++width)
      out.push_back(te::make_if(rest == Expr(width), tile(height, width, row, column, step)));
    return te::make_block(std::move(out));
  }

  te::Stmt tile(int64_t height, int64_t width, const Expr& row, const Expr& column,
                int64_t row_step) const {
    Tile t{height, width, width == 1 ? 2 : 1, row, column, row_step, {}};
    t.sums = Tensor("sums", dtype, {height, width, t.parts, lanes()});
    te::Stmt clear = each(t, t.parts, [&](Expr r, Expr c, Expr p) {
      return in_lanes(lanes(), [&](Expr l) {
        return te::make_store(t.sums, {r, c, p, l}, zero(dtype));
      });
    });
    te::Stmt body = te::make_block({clear, add_terms(t), fold(t)});
    return te::make_alloc(t.sums, te::Scope::kStack, body);
  }

  static te::Stmt each(const Tile& t, int64_t parts, const TileBody& body) {
    constexpr auto kUnrolled = te::LoopKind::kUnrolled;
    auto in_parts = [&](Expr r, Expr c) {
      return te::loop(
          "p", parts, [&](Expr p) { return body(r, c, p); }, kUnrolled);
    };
    auto in_columns = [&](Expr r) {
      return te::loop(
          "c", t.columns, [&](Expr c) { return in_parts(r, c); }, kUnrolled);
    };
    return te::loop("r", t.rows, in_columns, kUnrolled);
  }
  static te::Stmt in_lanes(int64_t count, const std::function<te::Stmt(Expr)>& body) {
    return te::loop("l", count, body, te::LoopKind::kVectorized);
  }

  // Adds `parts` vectors of terms from k on.
  te::Stmt add_vectors(const Tile& t, int64_t parts, const Expr& k, bool is_partial) const {
    return each(t, parts, [&](Expr r, Expr c, Expr p) {
      return in_lanes(lanes(), [&](Expr l) {
        Expr at = k + p * lanes() + l;
        Expr term = a(t.row + r * t.row_step, at) * x(t.column + c, at);
        if (is_partial) term = select(at < Expr(terms), term, zero(dtype));
        return te::make_store(t.sums, {r, c, p, l}, t.sums(r, c, p, l) + term);
      });
    });
  }
  te::Stmt add_terms(const Tile& t) const {
    const int64_t step = t.parts * lanes(), full = terms / step * step;
    std::vector<te::Stmt> out;
    if (full > 0) {
      out.push_back(te::loop("k", full / step,
                             [&](Expr k) { return add_vectors(t, t.parts, k * step, false); }));
    }
    for (int64_t at = full; at < terms; at += lanes())
      out.push_back(add_vectors(t, 1, at, at + lanes() > terms));
    return te::make_block(std::move(out));
  }

  // Adds up parts and lanes, half by half.
  te::Stmt fold(const Tile& t) const {
    return each(t, 1, [&](Expr r, Expr c, Expr) {
      std::vector<te::Stmt> out;
      auto add = [&](int64_t count, int64_t part, int64_t shift) {
        out.push_back(in_lanes(count, [&](Expr l) {
          return te::make_store(t.sums, {r, c, 0, l},
                                t.sums(r, c, 0, l) + t.sums(r, c, part, l + shift));
        }));
      };
      if (t.parts == 2) add(lanes(), 1, 0);
      for (int64_t half = lanes() / 2; half > 1; half /= 2) add(half, 0, half);
      out.push_back(
          give(t.row + r * t.row_step, t.column + c, t.sums(r, c, 0, 0) + t.sums(r, c, 0, 1)));
      return te::make_block(std::move(out));
    });
  }
};

}  // namespace byoc::op
