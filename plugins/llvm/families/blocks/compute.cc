// SPDX-License-Identifier: Apache-2.0
// Panels have columns next to each other, for vectors, and eight entries of a column in a word:
//   panels[p, q, c]     entries 8 q to 8 q + 7 of column p * columns + c, 4 bits each
//   panels[p, q, t, c]  entry 8 q + t, of 8 or 16 bits
// Entries of integers are kept less 2^(bits - 1), and zero points likewise, so that
//   y = sum over blocks of scale * (sum of x * entry - zero point * sum of x)
// has small numbers in its sums. Columns and rows that fill the last panel and block are 0.
#include "plugins/llvm/families/blocks/compute.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::blocks {
namespace {

using te::BinaryOp;
using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kMostRows = 4;    // that unpack in registers
constexpr int64_t kMostGroup = 32;  // entries of a column that are summed before they are scaled
constexpr int64_t kFloatGroup = 2 * kEntries;  // the same of floats

struct Matrix {
  int64_t k = 0, n = 0;
  int64_t block = 0;  // 0: floats, without scales
  int64_t bits = 16;
  int64_t columns = 0;  // of a panel
  bool is_transposed = false;
  int64_t whole() const {  // rows with those that fill the last block
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

Expr i32(int64_t value) { return te::int_constant(DType::kI32, value); }
Expr f32(double value) { return te::constant(DType::kF32, value); }

Expr when(bool is_needed, const Expr& condition, const Expr& value, const Expr& otherwise) {
  return is_needed ? te::select(condition, value, otherwise) : value;
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
  bool has_zero() const { return !zero_.is_empty(); }
  /// Returns that entry of the matrix, as f32.
  Expr weight(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const;
  Expr zero(const Expr& panel, const Expr& block, const Expr& c) const {
    const Expr out = te::cast(DType::kF32, zero_(panel, block, c));
    return zero_.dtype() == DType::kU8 ? out - f32(middle()) : out;
  }

 private:
  double middle() const { return static_cast<double>(int64_t{1} << (matrix_.bits - 1)); }
  Expr column(const Exprs& i) const { return i[0] * matrix_.columns + i.back(); }
  bool is_filled() const { return matrix_.n % matrix_.columns != 0; }
  Tensor words(te::Builder& builder, const Tensor& codes) const;
  Tensor elements(te::Builder& builder, const Tensor& stored) const;
  Tensor grains(te::Builder& builder, const char* name, const Tensor& given) const;

  const Matrix& matrix_;
  Tensor entries_, scale_, zero_;
};

Panels::Panels(te::Builder& builder, const Matrix& matrix, std::span<const Tensor> in)
    : matrix_(matrix) {
  entries_ = matrix.bits == 4 ? words(builder, in[0]) : elements(builder, in[0]);
  if (matrix.block == 0) return;
  scale_ = grains(builder, "scale", in[1]);
  if (in.size() > 2) zero_ = grains(builder, "zero", in[2]);
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
                           if (is_float(dtype) && name == std::string_view("zero"))
                             value = te::cast(dtype, te::cast(DType::kF32, value) - f32(middle()));
                           return when(is_filled(), column(i) < Expr(matrix_.n), value, none);
                         });
}

Expr Panels::entry(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const {
  if (matrix_.bits != 4) return te::cast(DType::kF32, entries_(panel, q, t, c));
  Expr word = entries_(panel, q, c);
  const std::optional<int64_t> at = te::as_int(t);
  if (at != 0)
    word =
        te::binary(BinaryOp::kShiftRight, word, at ? i32(4 * *at) : te::cast(DType::kI32, t * 4));
  return te::cast(DType::kF32, te::binary(BinaryOp::kAnd, word, i32(15))) - f32(8);
}

Expr Panels::weight(const Expr& panel, const Expr& q, const Expr& t, const Expr& c) const {
  const Expr number = entry(panel, q, t, c);
  if (matrix_.block == 0) return number;
  const Expr block = floor_div(q, matrix_.block / kEntries), factor = scale(panel, block, c);
  return (has_zero() ? number - zero(panel, block, c) : number) * factor;
}

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

/// Makes one product.
struct Maker {
  te::Builder& builder;
  const Matrix& matrix;
  const Rows& rows;
  const Panels& panels;

  Tensor one() const;
  Tensor few() const;
  Tensor many() const;

 private:
  Tensor row_sums() const;
  Expr group_sum(const Exprs& i, const Expr& group) const;
};

// Returns the sums of the rows' elements in each group, for zero points.
Tensor Maker::row_sums() const {
  const int64_t group = matrix.group();
  return builder.compute("row_sums", rows.shape(matrix.whole() / group), [&](const Exprs& i) {
    Expr out;
    for (int64_t t = 0; t < group; ++t) {
      const Expr x = rows.at(i, i.back() * group + t);
      out = t == 0 ? x : out + x;
    }
    return out;
  });
}

// Returns the sum of a group's products. Chains of eight do not wait for each other.
Expr Maker::group_sum(const Exprs& i, const Expr& group) const {
  const Expr panel = floor_div(i.back(), matrix.columns), c = floor_mod(i.back(), matrix.columns);
  const int64_t words = matrix.group() / kEntries;
  Expr out;
  for (int64_t word = 0; word < words; ++word) {
    const Expr q = group * words + word;
    Expr chain;
    for (int64_t t = 0; t < kEntries; ++t) {
      const Expr product = rows.at(i, q * kEntries + t) * panels.entry(panel, q, t, c);
      chain = t == 0 ? product : chain + product;
    }
    out = word == 0 ? chain : out + chain;
  }
  return out;
}

// Sums of one row: a group is summed before it is scaled.
Tensor Maker::one() const {
  const int64_t group = matrix.group();
  Tensor sums;
  if (panels.has_zero()) sums = row_sums();
  return builder.reduce("product", rows.shape(matrix.n), {matrix.whole() / group},
                        te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                          Expr out = group_sum(i, r[0]);
                          if (matrix.block == 0) return out;
                          const Expr panel = floor_div(i.back(), matrix.columns),
                                     c = floor_mod(i.back(), matrix.columns);
                          const int64_t per_block = matrix.block / group;
                          const Expr block = per_block == 1 ? r[0] : floor_div(r[0], per_block);
                          if (!sums.is_empty()) {
                            Exprs row = i;
                            row.back() = r[0];
                            out = out - sums(row) * panels.zero(panel, block, c);
                          }
                          return out * panels.scale(panel, block, c);
                        });
}

// Sums of few rows, which share each entry once it is unpacked.
Tensor Maker::few() const {
  return builder.reduce("product", rows.shape(matrix.n), {matrix.whole() / kEntries, kEntries},
                        te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                          const Expr panel = floor_div(i.back(), matrix.columns),
                                     c = floor_mod(i.back(), matrix.columns);
                          return rows.at(i, r[0] * kEntries + r[1]) *
                                 panels.weight(panel, r[0], r[1], c);
                        });
}

// Sums of many rows, over a panel of the matrix as f32.
Tensor Maker::many() const {
  const Tensor unpacked = builder.compute(
      topi::kUnpackedRole, {matrix.panels(), matrix.whole(), matrix.columns}, [&](const Exprs& i) {
        return panels.weight(i[0], floor_div(i[1], kEntries), floor_mod(i[1], kEntries), i[2]);
      });
  return builder.reduce("product", rows.shape(matrix.n), {matrix.whole()}, te::sum_of(DType::kF32),
                        [&](const Exprs& i, const Exprs& r) {
                          return rows.at(i, r[0]) * unpacked(floor_div(i.back(), matrix.columns),
                                                             r[0],
                                                             floor_mod(i.back(), matrix.columns));
                        });
}

// `is_exact`: an infinity in a row is multiplied by the entry less its zero point. `rows`: 0 where
// each run gives their number.
te::Strategy strategy_of(const Matrix& matrix, int64_t rows, bool is_exact) {
  const bool is_few = rows > 0 && rows <= kMostRows;
  te::Strategy out{.name = is_few ? kRowsCompute : kUnpackedCompute, .level = kPreferred};
  out.has_generic_schedule = false;
  out.compute = [=](te::Builder& builder, std::span<const Tensor> in, Types types,
                    const Attrs&) -> Result<std::vector<Tensor>> {
    const Panels panels(builder, matrix, in.subspan(1));
    const Rows all(builder, in[0], matrix.k, matrix.whole());
    const Maker maker{builder, matrix, all, panels};
    const bool is_one = rows == 1 && !(is_exact && panels.has_zero());
    const Tensor sums = is_one ? maker.one() : is_few ? maker.few() : maker.many();
    if (types[0]->shape.size() < 3) return std::vector<Tensor>{sums};
    return std::vector<Tensor>{
        builder.compute("narrow_product", te::extents_of(*types[0]),
                        [&](const Exprs& i) { return sums(all.joined_index(i)); })};
  };
  out.compute.takes_open = rows == 0;
  return out;
}

}  // namespace

void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  const bool has_blocks = site.op->name == "matmul_blocks";
  if (!has_blocks && site.op->name != "matmul_widened") return;
  for (size_t k = 1; k < site.inputs.size(); ++k) {
    if (!has_constant_weight(site, k)) return;
  }
  if (!is_static(site.inputs[0]->shape)) return;
  const Ints y = static_extents(site.outputs[0]->shape);
  Matrix matrix{.k = site.inputs[0]->shape.back().extent(), .n = y.back()};
  matrix.columns = panel_columns(*site.target);
  if (has_blocks) matrix.block = site.attrs->i("block"), matrix.bits = site.attrs->i("bits");
  matrix.is_transposed = site.attrs->b("trans_b", false);
  const int64_t rows = y[y.size() - 2] * (y.size() > 2 ? y[y.size() - 3] : 1);
  const bool is_empty = std::ranges::any_of(y, [](int64_t extent) { return extent == 0; });
  if (matrix.n < matrix.columns || matrix.k == 0 || is_empty) return;
  out.push_back(strategy_of(matrix, call.is_open ? 0 : rows, has_exact_sums(site)));
}

}  // namespace byoc::llvm_plugin::blocks
