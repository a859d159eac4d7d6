// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/winograd/stages.h"

#include <algorithm>

#include "byoc/te/simplify.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

// Appends x * factor to a sum, which is empty at first.
void add_term(Expr& sum, const Expr& x, double factor) {
  if (factor == 0) return;
  const double size = std::abs(factor);
  Expr term = size == 1 ? x : x * te::constant(x.dtype(), size);
  if (sum.is_empty()) sum = factor < 0 ? -term : term;
  else sum = factor < 0 ? sum - term : sum + term;
}

// Returns the sum of terms with factors. Terms with a factor of 1 are first, because a product with
// a sum is one instruction.
Expr sum_of(const std::vector<double>& factors, const Exprs& terms) {
  Expr out;
  for (bool is_one : {true, false}) {
    for (size_t k = 0; k < terms.size(); ++k) {
      if ((factors[k] == 1) == is_one) add_term(out, terms[k], factors[k]);
    }
  }
  return out.is_empty() ? te::constant(terms[0].dtype(), 0) : out;
}

/// Terms of sums, and the column of a matrix for each.
struct Columns {
  std::vector<std::vector<double>> factors;
  Exprs terms;
  void append(std::vector<double> column, Expr term) {
    factors.push_back(std::move(column));
    terms.push_back(std::move(term));
  }
};

std::vector<double> column_of(const Matrix& matrix, size_t k) {
  std::vector<double> out;
  for (const auto& row : matrix) out.push_back(row[k]);
  return out;
}

// Returns the columns of a matrix, equal ones as one for the sum of their terms.
Columns merged_columns(const Matrix& matrix, const Exprs& terms) {
  Columns out;
  const std::vector<size_t> numbers = column_numbers(matrix);
  for (size_t k = 0; k < terms.size(); ++k) {
    if (numbers[k] == out.terms.size()) out.append(column_of(matrix, k), terms[k]);
    else out.terms[numbers[k]] = out.terms[numbers[k]] + terms[k];
  }
  return out;
}

}  // namespace

int64_t tiles_in(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

Expr tiles_in(const Expr& extent, int64_t tile) {
  return te::simplify(floor_div(extent + (tile - 1), tile));
}

Expr element(const Exprs& values, const Expr& index) {
  Expr out = values.back();
  for (size_t k = values.size() - 1; k-- > 0;)
    out = te::select(index == static_cast<int64_t>(k), values[k], out);
  return out;
}

Exprs rows_times(const Matrix& matrix, const Exprs& terms) {
  Exprs out;
  for (size_t row = 0; row < matrix.size(); ++row) {
    std::vector<double> even, odd;
    const bool has_next = row + 1 < matrix.size();
    bool is_pair = has_next;
    for (size_t k = 0; k < terms.size() && has_next; ++k) {
      const double a = matrix[row][k], b = matrix[row + 1][k];
      even.push_back((a + b) / 2), odd.push_back((a - b) / 2);
      is_pair = is_pair && (a == b || a == -b);
    }
    if (!is_pair || std::ranges::count(odd, 0) == static_cast<ptrdiff_t>(odd.size())) {
      out.push_back(sum_of(matrix[row], terms));
      continue;
    }
    const Expr e = sum_of(even, terms), o = sum_of(odd, terms);
    out.push_back(e + o);
    out.push_back(e - o);
    ++row;
  }
  return out;
}

Exprs columns_times(const Matrix& matrix, const Exprs& terms) {
  const Columns all = merged_columns(matrix, terms);
  Columns joined;
  for (size_t k = 0; k < all.terms.size(); ++k) {
    const std::vector<double>& a = all.factors[k];
    const bool has_next = k + 1 < all.terms.size();
    const std::vector<double>& b = all.factors[has_next ? k + 1 : k];
    bool is_pair = has_next;
    for (size_t i = 0; i < a.size(); ++i)
      is_pair = is_pair && (i % 2 == 0 ? a[i] == b[i] : a[i] == -b[i]);
    if (!is_pair) {
      joined.append(a, all.terms[k]);
      continue;
    }
    std::vector<double> even = a, odd = a;
    for (size_t i = 0; i < a.size(); ++i) (i % 2 == 0 ? odd : even)[i] = 0;
    joined.append(std::move(even), all.terms[k] + all.terms[k + 1]);
    joined.append(std::move(odd), all.terms[k] - all.terms[k + 1]);
    ++k;
  }
  Exprs out;
  for (size_t i = 0; i < matrix.size(); ++i) {
    std::vector<double> row;
    for (const auto& column : joined.factors) row.push_back(column[i]);
    out.push_back(sum_of(row, joined.terms));
  }
  return out;
}

std::vector<size_t> column_numbers(const Matrix& matrix) {
  std::vector<size_t> out;
  std::vector<std::vector<double>> seen;
  for (size_t k = 0; k < matrix[0].size(); ++k) {
    const std::vector<double> column = column_of(matrix, k);
    const auto same = std::ranges::find(seen, column);
    out.push_back(static_cast<size_t>(same - seen.begin()));
    if (same == seen.end()) seen.push_back(column);
  }
  return out;
}

Matrix different_columns(const Matrix& matrix) {
  Matrix out(matrix.size());
  const std::vector<size_t> numbers = column_numbers(matrix);
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] != out[0].size()) continue;
    for (size_t i = 0; i < matrix.size(); ++i) out[i].push_back(matrix[i][k]);
  }
  return out;
}

Tensor result_of(te::Builder& builder, const Conv& conv, const Tile& tile, const Tensor& products,
                 const Exprs& shape) {
  const int64_t down = tile.rows, across = tile.columns;
  const Expr tiles_down = tiles_in(shape[2], down), tiles_across = tiles_in(shape[3], across);
  Matrix of_rows = transforms_of(down, conv.rows, conv.stride).output;
  Matrix of_columns = transforms_of(across, conv.columns, conv.stride).output;
  if (conv.is_plain)
    of_rows = different_columns(of_rows), of_columns = different_columns(of_columns);
  const auto rows_of_products = static_cast<int64_t>(of_rows[0].size());
  const auto columns_of_products = static_cast<int64_t>(of_columns[0].size());
  const Expr n = products.shape()[2];
  const Exprs half = {n,    conv.o_blocks,       tiles_down,  tiles_across,
                      down, columns_of_products, conv.o_block};
  Tensor rows = builder.compute(std::string(kRows), half, [&](const Exprs& i) {
    const Exprs terms = each(rows_of_products, [&](int64_t row) {
      if (conv.is_open) return products(row, i[5], i[0], i[1], i[2], i[3], i[6]);
      return products(row, i[5], i[0], i[1], i[2] * tiles_across + i[3], i[6]);
    });
    return element(columns_times(of_rows, terms), i[4]);
  });
  const Exprs whole = {n, conv.o_blocks, tiles_down, down, tiles_across, across, conv.o_block};
  Tensor tiles = builder.compute(std::string(kTiles), whole, [&](const Exprs& i) {
    const Exprs terms = each(columns_of_products, [&](int64_t column) {
      return rows(i[0], i[1], i[2], i[4], i[3], column, i[6]);
    });
    return element(columns_times(of_columns, terms), i[5]);
  });
  return builder.compute("conv2d_nchwc", shape, [&](const Exprs& i) {
    return tiles(i[0], i[1], floor_div(i[2], down), floor_mod(i[2], down), floor_div(i[3], across),
                 floor_mod(i[3], across), i[4]);
  });
}

}  // namespace byoc::llvm_plugin::winograd
