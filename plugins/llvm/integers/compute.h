// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes of products of integers of 8 bits.
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::integers {

/// Appends the computes of conv2d_nchwc_integers and matmul_integers with constant weights:
/// "pointwise" for convolutions with one tap and without padding, "f32_sums" for those of every
/// channel with itself, "dots" for the others, "packed" for products of a panel's columns.
void add_strategies(const te::Site& site, bool has_constant_weight, std::vector<te::Strategy>& out);

}  // namespace byoc::llvm_plugin::integers
