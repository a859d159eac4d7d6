// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with a constant matrix in panels of columns.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/tiling/cost_model.h"

namespace byoc::llvm_plugin::product {

/// The compute of products with a matrix that is put into panels of columns.
inline constexpr const char* kPackedCompute = "packed";

/// Appends "packed" for products of f32 with a constant matrix that is not in panels yet, or with
/// another one where that pays (equation.h).
void add_computes(const FamilyCall& call, Strategies& out);

/// Returns the sums of a product over k, whose matrix has columns, the last axis, in panels of
/// `block`; axis `rows` of the shape has the rows that share a matrix.
topi::Sums packed_sums(const std::vector<int64_t>& shape, size_t rows, int64_t k, int64_t block,
                       const te::Target& target);

}  // namespace byoc::llvm_plugin::product
