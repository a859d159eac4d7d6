// SPDX-License-Identifier: Apache-2.0
// For groups of up to 32 entries of a column:
//   codes[m, k] = round(x[m, k] * 127 / largest[m, block])     i8
//   y[m, n] = sum over groups of scale[n, block] * largest[m, block] / 127 *
//             (sum of codes[m, k] * entry[k, n] - zero point[n, block] * sum of codes[m, k])
// Four adjacent entries of a column are the bytes of a lane, which one instruction multiplies:
//   bytes[p, q, c, t]   entry 4 q + t of column p * columns + c, of 8 bits
//   bytes[p, q, c, t]   entries 8 q + t and, in its upper half, 8 q + 4 + t, of 4 bits
// The stages of x have no reductions, so that the product is the only one.
#include "plugins/llvm/families/blocks/integers.h"

#include <algorithm>

namespace byoc::llvm_plugin::blocks {
namespace {

using te::BinaryOp;

constexpr int64_t kQuad = 4;      // bytes of a lane
constexpr double kLeast = 1e-36;  // blocks below it are zeros: 127 / it has to be a number

/// Rows in steps of their blocks.
struct RoundedRows {
  Tensor codes;  // i8 [.., whole]
  Tensor steps;  // f32 [.., blocks]
  Tensor sums;   // i32 [.., groups]: of codes
};

// Combines values that `at` gives, two and two, so that no chain is long.
Expr folded(int64_t count, const std::function<Expr(int64_t)>& at,
            const std::function<Expr(const Expr&, const Expr&)>& combine) {
  Exprs all;
  for (int64_t k = 0; k < count; ++k) all.push_back(at(k));
  while (all.size() > 1) {
    Exprs half;
    for (size_t k = 0; k + 1 < all.size(); k += 2) half.push_back(combine(all[k], all[k + 1]));
    if (all.size() % 2 != 0) half.push_back(all.back());
    all = std::move(half);
  }
  return all[0];
}

// Returns the greater one, NaN if one of them is: max returns its second operand then.
Expr greater_of(const Expr& a, const Expr& b) {
  return te::select(te::unary(te::UnaryOp::kIsNan, a), a, te::max(a, b));
}

Expr plus(const Expr& a, const Expr& b) { return a + b; }

// Returns the largest magnitudes [.., blocks].
Tensor largest_of(te::Builder& builder, const Tensor& x, const Matrix& matrix) {
  auto magnitude = [&](const Exprs& i, const Expr& at) {
    const Expr value = te::unary(te::UnaryOp::kAbs, x(with_last(i, at)));
    return matrix.k == matrix.whole() ? value : te::select(at < Expr(matrix.k), value, f32(0));
  };
  const int64_t group = matrix.group(), per_block = matrix.block / group;
  const Tensor groups = builder.compute(
      "group_largest", with_last(x.shape(), matrix.whole() / group), [&](const Exprs& i) {
        return folded(
            group, [&](int64_t t) { return magnitude(i, i.back() * group + t); }, greater_of);
      });
  if (per_block == 1) return groups;
  return builder.compute(
      "row_largest", with_last(x.shape(), matrix.whole() / matrix.block), [&](const Exprs& i) {
        return folded(
            per_block, [&](int64_t t) { return groups(with_last(i, i.back() * per_block + t)); },
            greater_of);
      });
}

// Returns x in steps of its block, as f32.
Expr in_steps(const Expr& x, const Expr& largest) {
  const Expr steps = te::select(f32(kLeast) < largest, f32(127) / largest, f32(0));
  return te::unary(te::UnaryOp::kRound, x * steps);
}

// Returns the step of a block, NaN where its largest magnitude is no number.
Expr step_of(const Expr& largest) { return largest / f32(127) + largest * f32(0); }

RoundedRows rounded(te::Builder& builder, const Tensor& x, const Matrix& matrix) {
  RoundedRows out;
  const Tensor largest = largest_of(builder, x, matrix);
  out.codes =
      builder.compute("row_codes", with_last(x.shape(), matrix.whole()), [&](const Exprs& i) {
        const Expr block = floor_div(i.back(), matrix.block);
        const Expr code = te::cast(DType::kI8, in_steps(x(i), largest(with_last(i, block))));
        return matrix.k == matrix.whole()
                   ? code
                   : te::select(i.back() < Expr(matrix.k), code, te::int_constant(DType::kI8, 0));
      });
  out.steps = builder.compute("row_steps", largest.shape(),
                              [&](const Exprs& i) { return step_of(largest(i)); });
  const int64_t group = matrix.group();
  out.sums = builder.compute(
      "row_sums", with_last(x.shape(), matrix.whole() / group), [&](const Exprs& i) {
        return folded(
            group,
            [&](int64_t t) {
              return te::cast(DType::kI32, out.codes(with_last(i, i.back() * group + t)));
            },
            plus);
      });
  return out;
}

// Returns the entries of a matrix as the bytes of lanes.
Tensor bytes_of(te::Builder& builder, const Tensor& codes, const Matrix& matrix) {
  const bool has_halves = matrix.bits == 4;
  const int64_t entries = has_halves ? 2 * kQuad : kQuad;
  auto half = [&](const Expr& column, const Expr& entry) {
    const Expr byte = te::cast(DType::kI32, codes(column, floor_div(entry, 2)));
    const Expr shift = te::cast(DType::kI32, floor_mod(entry, 2) * 4);
    return te::binary(BinaryOp::kAnd, te::binary(BinaryOp::kShiftRight, byte, shift), i32(15));
  };
  return builder.compute(
      "bytes", {matrix.panels(), matrix.whole() / entries, matrix.columns, kQuad},
      [&](const Exprs& i) {
        const Expr column = i[0] * matrix.columns + i[2], entry = i[1] * entries + i[3];
        Expr out = codes(column, entry);
        if (has_halves) {
          const Expr high = te::binary(BinaryOp::kShiftLeft, half(column, entry + kQuad), i32(4));
          out = te::cast(DType::kU8, te::binary(BinaryOp::kOr, half(column, entry), high));
        }
        if (matrix.n % matrix.columns == 0) return out;
        return te::select(column < Expr(matrix.n), out, te::int_constant(DType::kU8, 0));
      });
}

/// The products of a group of codes with a column.
struct Group {
  const Matrix& matrix;
  const Tensor& bytes;
  const Rows& codes;
  const Exprs& i;  // of the result
  Expr first;      // the group's first entry
  Expr panel, c;

  // Returns the sum of four products, of the entries from `at` on.
  Expr quad(int64_t at) const {
    const bool has_halves = matrix.bits == 4;
    const int64_t entries = has_halves ? 2 * kQuad : kQuad;
    const Expr word = floor_div(first, entries) + at / entries;
    return folded(
        kQuad,
        [&](int64_t t) {
          Expr byte = te::cast(DType::kI32, bytes(panel, word, c, Expr(t)));
          if (has_halves && at % entries == 0) byte = te::binary(BinaryOp::kAnd, byte, i32(15));
          else if (has_halves) byte = te::binary(BinaryOp::kShiftRight, byte, i32(4));
          return byte * te::cast(DType::kI32, codes.at(i, first + (at + t)));
        },
        plus);
  }
};

}  // namespace

Tensor rounded_rows(te::Builder& builder, const Tensor& x, const Matrix& matrix) {
  const Tensor largest = largest_of(builder, x, matrix);
  return builder.compute("rounded_rows", x.shape(), [&](const Exprs& i) {
    const Expr most = largest(with_last(i, floor_div(i.back(), matrix.block)));
    return in_steps(x(i), most) * step_of(most);
  });
}

Tensor integer_sums(te::Builder& builder, const Tensor& x, const Tensor& codes,
                    const Matrix& matrix, const Panels& panels) {
  const RoundedRows rows = rounded(builder, x, matrix);
  const Tensor bytes = bytes_of(builder, codes, matrix);
  const int64_t group = matrix.group(), groups = matrix.whole() / group,
                per_block = matrix.block / group, blocks = groups / per_block;
  const Rows all(builder, rows.codes, matrix.whole(), matrix.whole());
  const Rows sums(builder, rows.sums, groups, groups), steps(builder, rows.steps, blocks, blocks);
  return builder.reduce("product", all.shape(matrix.n), {groups}, te::sum_of(DType::kF32),
                        [&](const Exprs& i, const Exprs& r) {
                          const Expr panel = floor_div(i.back(), matrix.columns),
                                     c = floor_mod(i.back(), matrix.columns);
                          const Expr block = per_block == 1 ? r[0] : floor_div(r[0], per_block);
                          const Group own{matrix, bytes, all, i, r[0] * group, panel, c};
                          const Expr sum = sums.at(i, r[0]);
                          const Expr dots = folded(
                              group / kQuad, [&](int64_t k) { return own.quad(k * kQuad); }, plus);
                          Expr out = te::cast(DType::kF32,
                                              sum * i32(-(int64_t{1} << (matrix.bits - 1))) + dots);
                          if (panels.has_zero())
                            out = out - te::cast(DType::kF32, sum) * panels.zero(panel, block, c);
                          return out * (panels.scale(panel, block, c) * steps.at(i, block));
                        });
}

}  // namespace byoc::llvm_plugin::blocks
