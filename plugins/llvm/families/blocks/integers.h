// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of rows that are rounded to integers of 8 bits, a step per block, with integers of the
// matrix: sums of a group in i32, which are then scaled.
#include "plugins/llvm/families/blocks/panels.h"

namespace byoc::llvm_plugin::blocks {

/// Returns x [.., k] as f32 with its blocks rounded, as the op round_rows.
Tensor rounded_rows(te::Builder& builder, const Tensor& x, const Matrix& matrix);

/// Returns the sums [.., rows, n] of x [.., k] and a matrix of the codes [n, bytes], whose scales
/// and zero points are in `panels`.
Tensor integer_sums(te::Builder& builder, const Tensor& x, const Tensor& codes,
                    const Matrix& matrix, const Panels& panels);

}  // namespace byoc::llvm_plugin::blocks
