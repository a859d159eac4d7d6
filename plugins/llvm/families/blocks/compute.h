// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with constant matrices in a narrow form, put into panels of columns that keep it.
#include "plugins/llvm/families/calls.h"

namespace byoc::llvm_plugin::blocks {

/// The computes: few rows unpack the matrix in registers, many rows a panel of it in the cache;
/// rows that are rounded to 8 bits are multiplied as integers.
inline constexpr const char *kRowsCompute = "narrow_rows", *kUnpackedCompute = "narrow_unpacked",
                            *kIntegersCompute = "narrow_integers";
/// The entries of a column that follow each other in a panel.
inline constexpr int64_t kEntries = 8;

/// Appends the compute for matmul_blocks and matmul_widened with constant matrices.
void add_computes(const FamilyCall& call, Strategies& out);

}  // namespace byoc::llvm_plugin::blocks
