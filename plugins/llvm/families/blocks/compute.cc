// SPDX-License-Identifier: Apache-2.0
// Products: the computes of few rows, and of many.
#include "plugins/llvm/families/blocks/compute.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/families/blocks/integers.h"
#include "plugins/llvm/families/blocks/panels.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::blocks {
namespace {

constexpr int64_t kMostRows = 4;  // that unpack in registers

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
  Tensor growth() const;
  Tensor bounded(const Tensor& grown) const;
  Tensor sums_of(const Tensor& x) const;
  Expr group_sum(const Tensor& x, const Exprs& i, const Expr& group) const;
};

// Sums of up to 32 elements times 255 are finite where elements are below kLarge, or less by kLess.
constexpr double kLarge = 0x1p100, kLess = 0x1p-16;

// Returns for each group the factor of its sum: 1, but 1 / kLess where an element is large. A sum
// before its scale would be infinite there, and the result is not.
Tensor Maker::growth() const {
  const int64_t group = matrix.group();
  return builder.compute("growth", rows.shape(matrix.whole() / group), [&](const Exprs& i) {
    Expr largest;
    for (int64_t t = 0; t < group; ++t) {
      const Expr x = te::unary(te::UnaryOp::kAbs, rows.at(i, i.back() * group + t));
      largest = t == 0 ? x : te::max(largest, x);
    }
    return te::select(f32(kLarge) < largest, f32(1 / kLess), f32(1));
  });
}

// Returns the rows, less by kLess in the groups that grow again.
Tensor Maker::bounded(const Tensor& grown) const {
  return builder.compute("bounded_rows", rows.shape(matrix.whole()), [&](const Exprs& i) {
    const Expr factor = grown(with_last(i, floor_div(i.back(), matrix.group())));
    return rows.at(i, i.back()) * te::select(f32(1) < factor, f32(kLess), f32(1));
  });
}

// Returns the sums of the elements in each group, for zero points.
Tensor Maker::sums_of(const Tensor& x) const {
  const int64_t group = matrix.group();
  return builder.compute("row_sums", rows.shape(matrix.whole() / group), [&](const Exprs& i) {
    Expr out;
    for (int64_t t = 0; t < group; ++t) {
      const Expr element = x(with_last(i, i.back() * group + t));
      out = t == 0 ? element : out + element;
    }
    return out;
  });
}

// Returns the sum of a group's products. Chains of eight do not wait for each other.
Expr Maker::group_sum(const Tensor& x, const Exprs& i, const Expr& group) const {
  const Expr panel = floor_div(i.back(), matrix.columns), c = floor_mod(i.back(), matrix.columns);
  const int64_t words = matrix.group() / kEntries;
  Expr out;
  for (int64_t word = 0; word < words; ++word) {
    const Expr q = group * words + word;
    Expr chain;
    for (int64_t t = 0; t < kEntries; ++t) {
      const Expr own = q * kEntries + t;
      const Expr element = x.is_empty() ? rows.at(i, own) : x(with_last(i, own));
      const Expr product = element * (panels.joins_zero() ? panels.number(panel, q, t, c)
                                                          : panels.entry(panel, q, t, c));
      chain = t == 0 ? product : chain + product;
    }
    out = word == 0 ? chain : out + chain;
  }
  return out;
}

// Sums of one row: a group is summed before it is scaled.
Tensor Maker::one() const {
  const int64_t group = matrix.group();
  Tensor grown, x, sums;
  if (matrix.block > 0) grown = growth(), x = bounded(grown);
  if (panels.has_zero() && !panels.joins_zero()) sums = sums_of(x);
  return builder.reduce("product", rows.shape(matrix.n), {matrix.whole() / group},
                        te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                          Expr out = group_sum(x, i, r[0]);
                          if (matrix.block == 0) return out;
                          const Expr panel = floor_div(i.back(), matrix.columns),
                                     c = floor_mod(i.back(), matrix.columns);
                          const int64_t per_block = matrix.block / group;
                          const Expr block = per_block == 1 ? r[0] : floor_div(r[0], per_block);
                          const Exprs own = with_last(i, r[0]);
                          if (!sums.is_empty())
                            out = out - sums(own) * panels.zero(panel, block, c);
                          return out * panels.scale(panel, block, c) * grown(own);
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
  te::Strategy out{.name = matrix.has_integers ? kIntegersCompute
                           : is_few            ? kRowsCompute
                                               : kUnpackedCompute,
                   .level = kPreferred};
  out.has_generic_schedule = false;
  out.compute = [=](te::Builder& builder, std::span<const Tensor> in, Types types,
                    const Attrs&) -> Result<std::vector<Tensor>> {
    const Panels panels(builder, matrix, in.subspan(1));
    const bool is_float = matrix.has_rounded_rows && !matrix.has_integers;
    const Tensor x = is_float ? rounded_rows(builder, in[0], matrix) : in[0];
    const Rows all(builder, x, matrix.k, matrix.whole());
    const Maker maker{builder, matrix, all, panels};
    const bool is_one = rows == 1 && !(is_exact && panels.has_zero() && !panels.joins_zero());
    const Tensor sums = matrix.has_integers ? integer_sums(builder, x, in[1], matrix, panels)
                        : is_one            ? maker.one()
                        : is_few            ? maker.few()
                                            : maker.many();
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
  matrix.has_tables = site.target->lanes(sizeof(float)) >= 16;
  if (has_blocks) {
    matrix.block = site.attrs->i("block"), matrix.bits = site.attrs->i("bits");
    matrix.has_rounded_rows = site.attrs->i("row_bits") != 0;
    matrix.has_integers = matrix.has_rounded_rows && !call.is_open;
  }
  matrix.is_transposed = site.attrs->b("trans_b", false);
  const int64_t rows = y[y.size() - 2] * (y.size() > 2 ? y[y.size() - 3] : 1);
  const bool is_empty = std::ranges::any_of(y, [](int64_t extent) { return extent == 0; });
  if (matrix.n < matrix.columns || matrix.k == 0 || is_empty) return;
  out.push_back(strategy_of(matrix, call.is_open ? 0 : rows, has_exact_sums(site)));
}

}  // namespace byoc::llvm_plugin::blocks
