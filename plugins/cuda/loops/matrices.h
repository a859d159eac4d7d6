// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of whole matrices in memory, which a library can compute.
#include "plugins/cuda/loops/product.h"

namespace byoc::cuda {

/// The intrinsic of such a product. Places: the first elements of a, b and the result. Arguments:
/// numbers, in the order of kMatrixProductFields (plugins/cuda/code/launch.h).
inline constexpr const char* kMatrixProduct = "matrix_product";

/// Returns true for a product whose factors are matrices in memory, or batches of them, as they
/// are: nothing is computed while they are read. Its ends are not looked at.
bool is_matrix_product(const Job& job);
/// Returns true for an elementwise job that converts what it reads, and nothing else.
bool is_conversion(const Job& job);
/// Returns the call; nullopt where is_matrix_product is false, or the end is no conversion.
std::optional<te::Stmt> matrix_product(const Job& job);

}  // namespace byoc::cuda
