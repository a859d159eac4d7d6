// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strassen's products of matrices, in Winograd's form, as tensor expressions: both matrices are
// divided into quarters, and seven products of sums of quarters take the place of eight.
// Source: V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13 (1969);
// N. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 23.
#include <functional>
#include <optional>

#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::strassen {

/// The compute of such products, and the number of them in place of eight.
inline constexpr const char* kCompute = "strassen";
inline constexpr int64_t kProducts = 7;

/// The extents of a product [bands * m, k] x [k, n]: each band of rows is divided into quarters by
/// itself. Columns are in blocks.
struct Product {
  int64_t m, k, n, block;
  int64_t panel = 1;  ///< blocks of a quarter's columns whose products follow each other
  int64_t bands = 1;
  int64_t term_block = 0;  ///< terms that a row has side by side, as its source does; 0: all
  int64_t rows() const { return (m + 1) / 2; }  ///< of a quarter; the last may be zeros
  int64_t terms() const { return k / 2; }       ///< of a quarter
  int64_t adjacent() const { return term_block > 0 ? term_block : terms(); }
  int64_t blocks() const { return n / block / 2; }  ///< of a quarter's columns
};

/// The element of term k and column b of block j of a matrix.
using MatrixElement =
    std::function<te::Expr(const te::Expr& j, const te::Expr& k, const te::Expr& b)>;

/// The elements of both operands.
struct Operands {
  /// A row of a band and a term. The quarters of an odd number of rows have one more, which is 0.
  std::function<te::Expr(const te::Expr& band, const te::Expr& row, const te::Expr& term)> rows;
  MatrixElement matrix;
  te::Expr bands = {};  ///< their number where a run gives it; empty: that of the product
};

/// Adds these stages; g counts the bands, p the products, j the blocks of columns:
///   panels[g', p, j, k, b]       sums of the matrix's quarters, in f64; g' counts the panels
///   rows[g, p, c, i, l]          sums of the rows' quarters, in blocks of terms
///   products[g, p, j, i, b]      sum over c and l
///   quarters[g, h, i, q, j, b]   sums of the products: rows of half h, columns of half q
/// and returns the last one.
te::Tensor quarters_of(te::Builder& builder, const Product& product, const Operands& operands);
/// Returns an element of the result, of the last stage above.
te::Expr element_of(const te::Tensor& quarters, const Product& product, const te::Expr& band,
                    const te::Expr& row, const te::Expr& block, const te::Expr& column);

/// Returns the extents of a call of matmul_packed on f32 whose terms and blocks of columns are even
/// in number, and that has two rows at least.
std::optional<Product> product_of(const te::Site& site);
/// Returns the compute of that call: the stages above, then matmul_packed[.., m, n], the quarters
/// in their places.
ComputeFn compute_of(const Product& product);

/// Adds these stages to an op that computes more, and returns the last one, [m, n]. The rows of `x`
/// are all its axes but the last.
te::Tensor add_product(te::Builder& builder, const Product& product, const te::Tensor& x,
                       const MatrixElement& matrix);

/// The roles of the stages above.
inline constexpr std::string_view kPanels = "strassen.panels", kRows = "strassen.rows",
                                  kProductsName = "strassen.products",
                                  kQuarters = "strassen.quarters",
                                  kResult = "strassen.result";  // of `add_product`

}  // namespace byoc::llvm_plugin::strassen
