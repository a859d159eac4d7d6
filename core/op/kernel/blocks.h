// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices whose columns are integers of 4 or 8 bits in blocks, with a scale and a zero point each.
#include "core/op/kernel/expression.h"

namespace byoc::op {

/// A matrix [k, n]. A column is stored in whole blocks: ceil(k / block) of them.
struct Blocks {
  int64_t k = 0, n = 0, block = 0, bits = 0;
  int64_t count() const { return (k + block - 1) / block; }
  int64_t column_bytes() const { return count() * block * bits / 8; }
};

/// Returns the matrix that `in` is: codes [n, bytes], scale and, when it is given, zero point
/// [n, blocks]. Errors: types and shapes that do not fit, and attributes out of range.
Result<Blocks> blocks_of(std::string_view op, Types in, const Attrs& attrs, int64_t k);

/// Reads an element of a tensor of numbers as f32.
using ReadScale = float (*)(const void* from, int64_t at);
/// Returns the reader of u8, f16 and f32. Errors: other types.
Result<ReadScale> reader_of(std::string_view op, DType dtype);

/// The elements of a matrix in memory; `in` as for blocks_of.
struct BlockWeights {
  Blocks blocks;
  ReadScale scale, zero;  // zero: null without zero points
  const void* const* in;
  float at(int64_t row, int64_t column) const;
};

/// Returns the element of the matrix, as f32. `zero` may be empty.
Expr block_weight(const Tensor& codes, const Tensor& scale, const Tensor& zero, const Attrs& attrs,
                  const Expr& row, const Expr& column);

/// The largest magnitude of a block that round_rows makes zeros of.
inline constexpr double kLeastRounded = 1e-36;
/// Rounds rows of k elements: each block of a row to multiples of 1 / 127 of its largest magnitude.
void round_rows(const float* x, int64_t rows, int64_t k, int64_t block, float* y);
/// Returns the same as stages, of x f32 [.., k].
Tensor rounded_rows(te::Builder& builder, const Tensor& x, int64_t block);

}  // namespace byoc::op
