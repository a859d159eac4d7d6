// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with a constant matrix in panels of columns.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/tiling/cost_model.h"

namespace byoc::llvm_plugin::product {

/// The compute of products with a constant matrix that is put into panels of columns at compile.
inline constexpr const char* kPackedCompute = "packed";

/// Appends "packed" for products of f32 with a constant matrix that is not in panels yet.
void add_computes(const FamilyCall& call, Strategies& out);

/// Returns the sums of a product [.., m, n] over k, whose matrix has columns in panels of `block`;
/// axis `rows` of the shape is m.
topi::Sums packed_sums(const std::vector<int64_t>& shape, size_t rows, int64_t k, int64_t block,
                       const te::Target& target);

}  // namespace byoc::llvm_plugin::product
