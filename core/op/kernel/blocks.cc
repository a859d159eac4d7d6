// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/blocks.h"

#include <algorithm>
#include <cmath>

#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

constexpr int64_t kMostBlock = int64_t{1} << 20;
constexpr int64_t kMostRows = int64_t{1} << 48;  // a column has fewer bytes than i64 counts

Status check_matrix(std::string_view op, std::string_view name, TypeId type, DTypes allowed,
                    const Blocks& blocks, int64_t columns) {
  BYOC_TRY_STATUS(expect_dtype(op, name, type, allowed));
  const Shape shape = make_shape(Ints{blocks.n, columns});
  if (type->shape == shape) return {};
  return invalid(cat(op, ": ", name, " is ", type, ", expected ", TensorType{type->dtype, shape},
                     " for ", blocks.k, " rows in blocks of ", blocks.block, " entries of ",
                     blocks.bits, " bits"))
      .with_slug("op-shape");
}

template <class T>
float element(const void* from, int64_t at) {
  return static_cast<float>(static_cast<const T*>(from)[at]);
}

}  // namespace

Result<Blocks> blocks_of(std::string_view op, Types in, const Attrs& attrs, int64_t k) {
  BYOC_TRY_STATUS(expect_rank(op, "codes", in[0], 2));
  if (!in[0]->shape[0].is_static())
    return invalid(cat(op, ": codes must have a known shape, they are ", in[0]))
        .with_slug("op-shape");
  const Blocks out{k, in[0]->shape[0].extent(), attrs.i("block"), attrs.i("bits")};
  if ((out.bits != 4 && out.bits != 8) || out.block < 8 || out.block % 8 != 0 ||
      out.block > kMostBlock || k < 0 || k > kMostRows)
    return invalid(cat(op, ": bits is ", out.bits, ", block ", out.block, ", the matrix has ", k,
                       " rows; expected 4 or 8, a multiple of 8 and 0 to 2^48 rows"));
  BYOC_TRY_STATUS(check_matrix(op, "codes", in[0], {DType::kU8}, out, out.column_bytes()));
  BYOC_TRY_STATUS(check_matrix(op, "scale", in[1], {DType::kF32, DType::kF16}, out, out.count()));
  if (in.size() > 2)
    BYOC_TRY_STATUS(check_matrix(op, "zero_point", in[2], {DType::kU8, DType::kF32, DType::kF16},
                                 out, out.count()));
  return out;
}

Result<ReadScale> reader_of(std::string_view op, DType dtype) {
  return for_dtype<ReadScale>(op, dtype, TypeList<uint8_t, f16, float>{},
                              []<class T>() -> ReadScale { return element<T>; });
}

float BlockWeights::at(int64_t row, int64_t column) const {
  const int64_t per_byte = 8 / blocks.bits, grain = column * blocks.count() + row / blocks.block;
  const uint8_t byte = in_as<uint8_t>(in, 0)[column * blocks.column_bytes() + row / per_byte];
  const int code = blocks.bits == 8 ? byte : byte >> (row % 2 * 4) & 15;
  const float middle = static_cast<float>(int64_t{1} << (blocks.bits - 1));
  const float shift = zero == nullptr ? middle : zero(in[2], grain);
  return (static_cast<float>(code) - shift) * scale(in[1], grain);
}

Expr block_weight(const Tensor& codes, const Tensor& scale, const Tensor& zero, const Attrs& attrs,
                  const Expr& row, const Expr& column) {
  const bool is_nibble = attrs.i("bits") == 4;
  Expr code = te::cast(DType::kI32, codes(column, is_nibble ? floor_div(row, 2) : row));
  if (is_nibble) {
    const Expr shift = te::cast(DType::kI32, floor_mod(row, 2) * 4);
    code = te::binary(te::BinaryOp::kAnd, te::binary(te::BinaryOp::kShiftRight, code, shift),
                      te::int_constant(DType::kI32, 15));
  }
  const Expr block = floor_div(row, attrs.i("block"));
  const Expr middle = te::constant(DType::kF32, is_nibble ? 8 : 128);
  const Expr shift = zero.is_empty() ? middle : te::cast(DType::kF32, widened(zero(column, block)));
  return (te::cast(DType::kF32, code) - shift) * widened(scale(column, block));
}

void round_rows(const float* x, int64_t rows, int64_t k, int64_t block, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += k, y += k) {
    for (int64_t first = 0; first < k; first += block) {
      const int64_t end = std::min(first + block, k);
      float most = 0;
      for (int64_t r = first; r < end; ++r) {
        const float magnitude = std::abs(x[r]);
        if (magnitude > most || std::isnan(magnitude)) most = magnitude;
        if (std::isnan(most)) break;
      }
      const float steps = most > static_cast<float>(kLeastRounded) ? 127.0F / most : 0.0F;
      const float step = most / 127.0F;
      for (int64_t r = first; r < end; ++r) y[r] = std::nearbyint(x[r] * steps) * step;
    }
  }
}

Tensor rounded_rows(te::Builder& builder, const Tensor& x, int64_t block) {
  const int64_t k = *te::as_int(x.shape().back());
  Exprs shape = x.shape();
  shape.back() = (k + block - 1) / block;
  const Tensor most = builder.reduce(
      "row_largest", shape, {block}, greatest_combiner(DType::kF32),
      [&](const Exprs& i, const Exprs& r) {
        Exprs at = i;
        at.back() = i.back() * block + r[0];
        const Expr value = te::unary(te::UnaryOp::kAbs, x(at));
        return k % block == 0 ? value : te::select(at.back() < Expr(k), value, like(value, 0));
      });
  return builder.compute("rounded_rows", x.shape(), [&](const Exprs& i) {
    Exprs at = i;
    at.back() = floor_div(i.back(), block);
    const Expr largest = most(at), value = x(i);
    const Expr steps = te::select(like(largest, kLeastRounded) < largest,
                                  like(largest, 127) / largest, like(largest, 0));
    return te::unary(te::UnaryOp::kRound, value * steps) * (largest / like(largest, 127));
  });
}

}  // namespace byoc::op
