// SPDX-License-Identifier: Apache-2.0
#pragma once
// Effects of the order of terms and factors. Programs add and multiply in other orders than the
// reference kernels, and in f32, so a long sum is less exact than a short one, and a long product
// may leave the range of f32 on its way.
#include "oracle.h"

namespace byoc::fuzz {

/// The errors of one result by element. Empty: the result is no sum.
using SumErrors = std::vector<double>;

/// Returns the usual relative error of a sum of `terms` numbers of equal sign, in a dtype.
double error_of_sum(double terms, DType dtype);

/// Returns the error of each result of an op whose results are sums: of `terms` numbers with the
/// magnitudes |x|, it is error_of_sum(terms) times the sum of |x|. Ops whose sums are short in all
/// graphs, such as einsum, have no errors here. Errors: those of the reference kernel.
Result<std::vector<SumErrors>> errors_of_sums(const OpDef& op, const Attrs& attrs,
                                              const std::vector<const Known*>& args,
                                              const std::vector<Known>& results);

/// Adds the error of Winograd's tiles and Strassen's products to those of a convolution in f32 with
/// stride 1 or one tap: at most 2e-5 of the largest sum of magnitudes, for each result. Errors:
/// those of the reference kernel.
Status add_errors_of_tiles(const OpDef& op, const Attrs& attrs,
                           const std::vector<const Known*>& args, const std::vector<Known>& results,
                           SumErrors& errors);

/// Checks that no order of the factors of `prod` and `cumprod` underflows or overflows on its way:
/// 0 times an infinity is NaN. Other ops pass. Errors: kFailedPrecondition.
Status check_products(const OpDef& op, const Attrs& attrs, const std::vector<const Known*>& args,
                      const std::vector<Known>& results);

}  // namespace byoc::fuzz
