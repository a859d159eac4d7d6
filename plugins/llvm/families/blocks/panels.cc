// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/blocks/panels.h"

namespace byoc::llvm_plugin::blocks {
namespace {

using te::BinaryOp;

Expr when(bool is_needed, const Expr& condition, const Expr& value, const Expr& otherwise) {
  return is_needed ? te::select(condition, value, otherwise) : value;
}

}  // namespace

Panels::Panels(te::Builder& builder, const Matrix& matrix, std::span<const Tensor> in)
    : matrix_(matrix) {
  if (!matrix.has_integers)
    entries_ = matrix.bits == 4 ? words(builder, in[0]) : elements(builder, in[0]);
  if (matrix.block == 0) return;
  has_zero_ = in.size() > 2;
  scale_ = grains(builder, "scale", in[1]);
  if (has_zero_) zero_ = grains(builder, "zero", in[2]);
}

Tensor Panels::words(te::Builder& builder, const Tensor& codes) const {
  constexpr int64_t kBytes = kEntries / 2;
  return builder.compute("panels", {matrix_.panels(), matrix_.whole() / kEntries, matrix_.columns},
                         [&](const Exprs& i) {
                           Expr out;
                           for (int64_t byte = 0; byte < kBytes; ++byte) {
                             Expr part =
                                 te::cast(DType::kI32, codes(column(i), i[1] * kBytes + byte));
                             if (byte > 0)
                               part = te::binary(BinaryOp::kShiftLeft, part, i32(8 * byte));
                             out = byte == 0 ? part : te::binary(BinaryOp::kOr, out, part);
                           }
                           return when(is_filled(), column(i) < Expr(matrix_.n), out, i32(0));
                         });
}

// Returns bytes as i8, less 128, and floats as they are.
Tensor Panels::elements(te::Builder& builder, const Tensor& stored) const {
  const DType dtype = matrix_.bits == 8 ? DType::kI8 : stored.dtype();
  const Expr none = matrix_.bits == 8 ? te::int_constant(dtype, 0) : te::constant(dtype, 0);
  return builder.compute(
      "panels", {matrix_.panels(), matrix_.whole() / kEntries, kEntries, matrix_.columns},
      [&](const Exprs& i) {
        const Expr row = i[1] * kEntries + i[2], at = column(i);
        const bool is_row_first = matrix_.block == 0 && !matrix_.is_transposed;
        Expr value = is_row_first ? stored(row, at) : stored(at, row);
        if (matrix_.bits == 8)
          value = te::cast(dtype, te::cast(DType::kI32, value) - i32(int64_t{1} << 7));
        // blocks have their last rows stored
        const bool has_end = matrix_.block == 0 && matrix_.k != matrix_.whole();
        return when(is_filled(), at < Expr(matrix_.n),
                    when(has_end, row < Expr(matrix_.k), value, none), none);
      });
}

Tensor Panels::grains(te::Builder& builder, const char* name, const Tensor& given) const {
  const DType dtype = given.dtype();
  const Expr none = is_float(dtype) ? te::constant(dtype, 0) : te::int_constant(dtype, 0);
  return builder.compute(name, {matrix_.panels(), matrix_.whole() / matrix_.block, matrix_.columns},
                         [&](const Exprs& i) {
                           Expr value = given(column(i), i[1]);
                           if (is_float(dtype) && name == std::string_view("zero") && !joins_zero())
                             value = te::cast(dtype, te::cast(DType::kF32, value) - f32(middle()));
                           return when(is_filled(), column(i) < Expr(matrix_.n), value, none);
                         });
}

// Returns an entry of 4 bits as i32, from 0 to 15.
Expr Panels::nibble(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const {
  Expr word = entries_(panel, q, c);
  const std::optional<int64_t> at = te::as_int(t);
  if (at != 0)
    word =
        te::binary(BinaryOp::kShiftRight, word, at ? i32(4 * *at) : te::cast(DType::kI32, t * 4));
  return te::binary(BinaryOp::kAnd, word, i32(15));
}

Expr Panels::entry(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const {
  if (matrix_.bits != 4) return te::cast(DType::kF32, entries_(panel, q, t, c));
  return te::cast(DType::kF32, nibble(panel, q, t, c)) - f32(middle());
}

Expr Panels::number(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const {
  if (joins_zero()) {
    // Integers are subtracted in more units of a processor than floats.
    const Expr code = nibble(panel, q, t, c), zero = zero_(panel, block_of(q), c);
    if (is_float(zero.dtype())) return te::cast(DType::kF32, code) - te::cast(DType::kF32, zero);
    return te::cast(DType::kF32, code - te::cast(DType::kI32, zero));
  }
  const Expr number = entry(panel, q, t, c);
  return has_zero() ? number - zero(panel, block_of(q), c) : number;
}

Expr Panels::weight(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const {
  const Expr value = number(panel, q, t, c);
  return matrix_.block == 0 ? value : value * scale(panel, block_of(q), c);
}

}  // namespace byoc::llvm_plugin::blocks
