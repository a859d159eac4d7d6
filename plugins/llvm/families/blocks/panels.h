// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constant matrices in panels, and the rows that they are multiplied by.
// Panels have columns next to each other, for vectors, and eight entries of a column in a word:
//   panels[p, q, c]     entries 8 q to 8 q + 7 of column p * columns + c, 4 bits each
//   panels[p, q, t, c]  entry 8 q + t, of 8 or 16 bits
// Entries of integers are kept less 2^(bits - 1), and zero points likewise, so that
//   y = sum over blocks of scale * (sum of x * entry - zero point * sum of x)
// has small numbers in its sums. Where an entry of 4 bits is unpacked by arithmetic, its zero point
// is subtracted in the place of 2^(bits - 1). Columns and rows that fill the last panel and block
// have zeros.
#include <span>

#include "byoc/te/simplify.h"
#include "plugins/llvm/families/blocks/compute.h"

namespace byoc::llvm_plugin::blocks {

using te::Expr;
using te::Exprs;
using te::Tensor;

inline constexpr int64_t kMostGroup =
    32;  // entries of a column that are summed before they are scaled
inline constexpr int64_t kFloatGroup = 2 * kEntries;  // the same of floats

struct Matrix {
  int64_t k = 0, n = 0;
  int64_t block = 0;  // 0: floats, without scales
  int64_t bits = 16;
  bool has_rounded_rows = false;
  bool has_integers = false;  // rounded rows are multiplied as integers
  int64_t columns = 0;        // of a panel
  bool is_transposed = false;
  bool has_tables = false;  // entries of 4 bits are looked up in a register (values/dot.cc)
  int64_t whole() const {   // rows with those that fill the last block
    const int64_t step = block == 0 ? kFloatGroup : block;
    return (k + step - 1) / step * step;
  }
  int64_t panels() const { return (n + columns - 1) / columns; }
  int64_t group() const {
    if (block == 0) return kFloatGroup;
    if (block <= kMostGroup) return block;
    return block % kMostGroup == 0 ? kMostGroup : kEntries;
  }
};

inline Expr i32(int64_t value) { return te::int_constant(DType::kI32, value); }
inline Expr f32(double value) { return te::constant(DType::kF32, value); }

inline Exprs with_last(Exprs i, const Expr& last) {
  i.back() = last;
  return i;
}

/// The stages of a matrix, which are computed at compile.
class Panels {
 public:
  Panels(te::Builder& builder, const Matrix& matrix, std::span<const Tensor> in);
  /// Returns entry 8 q + t of a column, as f32 and less 2^(bits - 1).
  Expr entry(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const;
  Expr scale(const Expr& panel, const Expr& block, const Expr& c) const {
    return te::cast(DType::kF32, scale_(panel, block, c));
  }
  bool has_zero() const { return has_zero_; }
  /// Returns true when entries less their zero points take no more than entries.
  bool joins_zero() const {
    return has_zero() && matrix_.bits == 4 && !matrix_.has_tables && !matrix_.has_integers;
  }
  /// Returns the entry less its zero point, as f32.
  Expr number(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const;
  /// Returns that entry of the matrix, as f32.
  Expr weight(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const;
  Expr zero(const Expr& panel, const Expr& block, const Expr& c) const {
    const Expr out = te::cast(DType::kF32, zero_(panel, block, c));
    return zero_.dtype() == DType::kU8 ? out - f32(middle()) : out;
  }

 private:
  double middle() const { return static_cast<double>(int64_t{1} << (matrix_.bits - 1)); }
  Expr block_of(const Expr& q) const { return floor_div(q, matrix_.block / kEntries); }
  Expr nibble(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const;
  Expr column(const Exprs& i) const { return i[0] * matrix_.columns + i.back(); }
  bool is_filled() const { return matrix_.n % matrix_.columns != 0; }
  Tensor words(te::Builder& builder, const Tensor& codes) const;
  Tensor elements(te::Builder& builder, const Tensor& stored) const;
  Tensor grains(te::Builder& builder, const char* name, const Tensor& given) const;

  const Matrix& matrix_;
  Tensor entries_, scale_, zero_;
  bool has_zero_ = false;
};

/// Rows [.., a, b, k] as [.., a * b, k'], without a stage of their own where k' is k.
class Rows {
 public:
  Rows(te::Builder& builder, const Tensor& x, int64_t k, int64_t whole) : x_(x) {
    if (k == whole) return;
    Exprs shape = x.shape();
    shape.back() = whole;
    x_ = builder.compute("rows", shape, [&](const Exprs& i) {
      return te::select(i.back() < Expr(k), x(i), f32(0));
    });
  }
  /// Returns the shape of what has one row of `last` elements for each row.
  Exprs shape(int64_t last) const {
    Exprs out = x_.shape();
    if (out.size() > 2) {
      out[out.size() - 3] = te::simplify(out[out.size() - 3] * joined());
      out.erase(out.end() - 2);
    }
    out.back() = last;
    return out;
  }
  /// Returns an element of the row that has these indices in `shape`.
  Expr at(Exprs row, const Expr& column) const {
    row.back() = column;
    if (x_.rank() > 2) {
      const Expr both = row[row.size() - 2];
      row[row.size() - 2] = is_one_of() ? Expr(0) : floor_div(both, joined());
      row.insert(row.end() - 1, is_one_of() ? both : floor_mod(both, joined()));
    }
    return x_(row);
  }
  /// Returns the indices in `shape` of an element of [.., a, b, n].
  Exprs joined_index(Exprs i) const {
    if (i.size() < 3) return i;
    i[i.size() - 3] = is_one_of() ? i[i.size() - 2] : i[i.size() - 3] * joined() + i[i.size() - 2];
    i.erase(i.end() - 2);
    return i;
  }

 private:
  Expr joined() const { return x_.shape()[x_.rank() - 2]; }
  // Returns true where the rows are those of one matrix: no index is divided.
  bool is_one_of() const { return te::as_int(x_.shape()[x_.rank() - 3]) == 1; }
  Tensor x_;
};

}  // namespace byoc::llvm_plugin::blocks
