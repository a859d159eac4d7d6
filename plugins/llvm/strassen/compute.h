// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strassen's products of matrices, in Winograd's form, as tensor expressions: both matrices are
// divided into quarters, and seven products of sums of quarters take the place of eight.
// Source: V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13 (1969);
// N. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 23.
#include <optional>

#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::strassen {

/// The compute of such products, and the number of them in place of eight.
inline constexpr const char* kCompute = "strassen";
inline constexpr int64_t kProducts = 7;

/// The extents of a product [m, k] x [k, n]. Columns are in blocks.
struct Product {
  int64_t m, k, n, block;
  int64_t panel = 1;  ///< blocks of a quarter's columns whose products follow each other
  int64_t rows() const { return (m + 1) / 2; }      ///< of a quarter; the last may be zeros
  int64_t terms() const { return k / 2; }           ///< of a quarter
  int64_t blocks() const { return n / block / 2; }  ///< of a quarter's columns
};
/// Returns the extents of a call of matmul_packed on f32 whose terms and blocks of columns are even
/// in number, and that has two rows at least.
std::optional<Product> product_of(const te::Site& site);

/// Returns the compute, with these stages; p counts the products, j the blocks of columns:
///   panels[g, p, j, k, b]     sums of the matrix's quarters, in f64; g counts the panels
///   rows[p, i, k]             sums of the rows' quarters
///   products[p, j, i, b]      sum over k
///   quarters[h, i, q, j, b]   sums of the products: rows of half h, columns of half q
///   matmul_packed[.., m, n]   the quarters in their places
ComputeFn compute_of(const Product& product);

/// The names of the stages above; the Builder may append a number.
inline constexpr std::string_view kPanels = "strassen.panels", kRows = "strassen.rows",
                                  kProductsName = "strassen.products",
                                  kQuarters = "strassen.quarters";

}  // namespace byoc::llvm_plugin::strassen
