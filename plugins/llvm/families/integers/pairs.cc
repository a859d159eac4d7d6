// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/integers/pairs.h"

#include "byoc/base/check.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::integers {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kPair = 2;

Expr whole_of(int64_t value) { return te::int_constant(DType::kI32, value); }

Expr from_zero(const Expr& byte, int64_t zero) {
  return te::cast(DType::kI32, byte) - whole_of(zero);
}

Tensor pair_rows_of(te::Builder& builder, const Tensor& a, int64_t zero, int64_t k) {
  Exprs shape = a.shape();
  shape.back() = (k + 1) / kPair * kPair;
  return builder.compute("rows", shape, [&](const Exprs& i) {
    const Expr value = te::cast(DType::kI16, from_zero(a(i), zero));
    return k % kPair == 0 ? value
                          : te::select(i.back() < Expr(k), value, te::int_constant(DType::kI16, 0));
  });
}

Tensor pair_panels_of(te::Builder& builder, const Tensor& b, int64_t zero, int64_t block) {
  const int64_t k = *te::as_int(b.shape()[b.rank() - 2]), n = *te::as_int(b.shape().back());
  Exprs shape(b.shape().begin(), b.shape().end() - 2);
  const size_t rank = shape.size();
  for (int64_t extent : {(n + block - 1) / block, (k + 1) / kPair, block, kPair})
    shape.emplace_back(extent);
  return builder.compute(topi::kInterleavedRole, shape, [&](const Exprs& i) {
    const Expr column = i[rank] * block + i[rank + 2], row = i[rank + 1] * kPair + i[rank + 3];
    Exprs at(i.begin(), i.begin() + static_cast<int64_t>(rank));
    at.insert(at.end(), {row, column});
    const Expr value = te::cast(DType::kI16, from_zero(b(at), zero));
    if (k % kPair == 0 && n % block == 0) return value;
    return te::select(row < Expr(k) && column < Expr(n), value, te::int_constant(DType::kI16, 0));
  });
}

Tensor product(te::Builder& builder, const Tensor& rows, const Tensor& panels, const te::Exprs& y,
               int64_t block) {
  const size_t batch = panels.rank() - 4;
  auto term = [&](const Exprs& i, const Expr& q, int64_t t) {
    Exprs at_row = i, at(i.begin(), i.begin() + static_cast<int64_t>(batch));
    at_row.back() = q * kPair + t;
    at.insert(at.end(), {floor_div(i.back(), block), q, floor_mod(i.back(), block), Expr(t)});
    return te::cast(DType::kI32, rows(at_row)) * te::cast(DType::kI32, panels(at));
  };
  return builder.reduce(
      "product", y, {panels.shape()[batch + 1]}, te::sum_of(DType::kI32),
      [&](const Exprs& i, const Exprs& r) { return term(i, r[0], 0) + term(i, r[0], 1); });
}

}  // namespace

std::optional<te::Strategy> product_of_pairs(const te::Site& site, int64_t block) {
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  BYOC_CHECK(a.size() > 1 && b.size() > 1, "matrices of rank ", a.size(), " and ", b.size());
  if (!is_static(a) || !is_static(b)) return std::nullopt;
  const int64_t k = a.back().extent(), m = a[a.size() - 2].extent(), n = b.back().extent();
  if (k == 0 || m < 2 || n < block) return std::nullopt;
  te::Strategy out{.name = "packed", .level = kPreferred};
  out.compute = [k, block](te::Builder& builder, std::span<const Tensor> in, Types types,
                           const Attrs& attrs) -> Result<std::vector<Tensor>> {
    const Tensor rows = pair_rows_of(builder, in[0], attrs.i("a_zero", 0), k);
    const Tensor panels = pair_panels_of(builder, in[1], attrs.i("b_zero", 0), block);
    return std::vector<Tensor>{product(builder, rows, panels, te::extents_of(*types[0]), block)};
  };
  return out;
}

}  // namespace byoc::llvm_plugin::integers
