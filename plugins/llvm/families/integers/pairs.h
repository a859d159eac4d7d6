// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of two matrices of integers of 8 bits that are both values of the run.
#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin::integers {

/// Returns the compute "packed" of a matmul_integers whose b is no constant; nullopt: of other
/// shapes. Elements less their zero points are i16, of which a lane has two:
///   rows[.., m, k]              a - a_zero; 0 after an odd number of terms
///   panels[.., p, q, c, t]      b - b_zero, row 2 q + t of column p * block + c
///   y[.., m, n]                 over q of the sum over t < 2 of rows[.., m, 2 q + t] * panels
std::optional<te::Strategy> product_of_pairs(const te::Site& site, int64_t block);

}  // namespace byoc::llvm_plugin::integers
