// SPDX-License-Identifier: Apache-2.0
#pragma once
// Winograd's computes have these in common: products with small matrices, and all that follows the
// large ones.
#include "plugins/llvm/families/winograd/compute.h"
#include "plugins/llvm/families/winograd/transforms.h"

namespace byoc::llvm_plugin::winograd {

/// Returns the tiles that cover an extent.
int64_t tiles_in(int64_t extent, int64_t tile);
te::Expr tiles_in(const te::Expr& extent, int64_t tile);

/// Returns term(0), ..., term(count - 1).
template <class F>
te::Exprs each(int64_t count, F&& term) {
  te::Exprs out;
  for (int64_t k = 0; k < count; ++k) out.push_back(term(k));
  return out;
}

/// Returns values[index].
te::Expr element(const te::Exprs& values, const te::Expr& index);
/// Returns matrix times terms. Two rows for the points p and -p are the sum and the difference of
/// their even and their odd parts.
te::Exprs rows_times(const Matrix& matrix, const te::Exprs& terms);
/// Returns matrix times terms. Two columns for the points p and -p have the same factors but for
/// the sign: the sum and the difference of their terms are computed once. Terms of equal columns
/// are added first.
te::Exprs columns_times(const Matrix& matrix, const te::Exprs& terms);
/// Returns for each column its number among the different ones, which are in order of the first.
std::vector<size_t> column_numbers(const Matrix& matrix);
/// Returns a matrix without the columns that are equal to an earlier one.
Matrix different_columns(const Matrix& matrix);

/// Returns the convolution of a shape [n, o, h, w, b], and before it the stages kRows and kTiles,
/// of products [r, s, n, o, p, b], or for open images [r, s, n, o, ty, tx, b]. A plain image has
/// one row r and one column s for each different column of `output`, others for each product.
te::Tensor result_of(te::Builder& builder, const Conv& conv, const Tile& tile,
                     const te::Tensor& products, const te::Exprs& shape);

}  // namespace byoc::llvm_plugin::winograd
