// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/strassen/compute.h"

#include <algorithm>

namespace byoc::llvm_plugin::strassen {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

// Returns values[index].
Expr element(const Exprs& values, const Expr& index) {
  Expr out = values.back();
  for (size_t k = values.size() - 1; k-- > 0;)
    out = te::select(index == static_cast<int64_t>(k), values[k], out);
  return out;
}

/// The quarters of a matrix: a b over c d.
struct Quarters {
  Expr a, b, c, d;
};

// Returns the left operands of the seven products.
Exprs left_operands(const Quarters& x) {
  const Expr s1 = x.c + x.d, s2 = s1 - x.a, s3 = x.a - x.c, s4 = x.b - s2;
  return {x.a, x.b, s4, x.d, s1, s2, s3};
}

// Returns their right operands.
Exprs right_operands(const Quarters& x) {
  const Expr t1 = x.b - x.a, t2 = x.d - t1, t3 = x.d - x.b, t4 = t2 - x.c;
  return {x.a, x.c, x.d, t4, t1, t2, t3};
}

// Returns the quarters of the result.
Quarters result_of(const Exprs& p) {
  const Expr u2 = p[0] + p[5], u3 = u2 + p[6], u4 = u2 + p[4];
  return {p[0] + p[1], u4 + p[2], u3 - p[3], u3 + p[4]};
}

// Returns the index of a row in all axes but the last.
Exprs place_of_row(const Exprs& shape, Expr row) {
  Exprs out(shape.size() - 1, Expr(0));
  for (size_t d = out.size(); d-- > 0;) {
    const int64_t extent = *te::as_int(shape[d]);
    if (extent == 1) continue;
    const bool is_first = std::all_of(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(d),
                                      [](const Expr& x) { return te::as_int(x) == 1; });
    out[d] = is_first ? row : floor_mod(row, extent);
    row = floor_div(row, extent);
  }
  return out;
}

Expr row_at(const Exprs& shape, const Exprs& place) {
  Expr out = place[0];
  for (size_t d = 1; d + 1 < shape.size(); ++d) out = out * shape[d] + place[d];
  return out;
}

class Stages {
 public:
  Stages(te::Builder& builder, const Product& product) : builder_(builder), p_(product) {}
  Tensor panels(const Tensor& matrix);
  Tensor rows(const Tensor& x);
  Tensor products(const Tensor& rows, const Tensor& panels);
  Tensor result(const Tensor& products, const Exprs& shape);

 private:
  te::Builder& builder_;
  const Product& p_;
};

Tensor Stages::panels(const Tensor& matrix) {
  const Exprs shape = {p_.blocks() / p_.panel, kProducts, p_.panel, p_.terms(), p_.block};
  return builder_.compute(std::string(kPanels), shape, [&](const Exprs& i) {
    auto at = [&](int64_t down, int64_t across) {
      const Expr block = i[0] * p_.panel + i[2] + across * p_.blocks();
      return te::cast(DType::kF64, matrix(block, i[3] + down * p_.terms(), i[4]));
    };
    const Exprs operands = right_operands({at(0, 0), at(0, 1), at(1, 0), at(1, 1)});
    return te::cast(DType::kF32, element(operands, i[1]));
  });
}

Tensor Stages::rows(const Tensor& x) {
  const Exprs shape = {kProducts, p_.rows(), p_.terms()};
  return builder_.compute(std::string(kRows), shape, [&](const Exprs& i) {
    auto at = [&](int64_t down, int64_t across) {
      const Expr row = i[1] + down * p_.rows();
      Exprs place = place_of_row(x.shape(), row);
      place.push_back(i[2] + across * p_.terms());
      return down == 0 || p_.m % 2 == 0
                 ? x(place)
                 : te::select(row < p_.m, x(place), te::constant(DType::kF32, 0));
    };
    return element(left_operands({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}), i[0]);
  });
}

Tensor Stages::products(const Tensor& rows, const Tensor& panels) {
  const Exprs shape = {kProducts, p_.blocks(), p_.rows(), p_.block};
  return builder_.reduce(std::string(kProductsName), shape, {p_.terms()}, te::sum_of(DType::kF32),
                         [&](const Exprs& i, const Exprs& r) {
                           return rows(i[0], i[2], r[0]) * panels(floor_div(i[1], p_.panel), i[0],
                                                                  floor_mod(i[1], p_.panel), r[0],
                                                                  i[3]);
                         });
}

Tensor Stages::result(const Tensor& products, const Exprs& shape) {
  const Exprs in_quarters = {2, p_.rows(), 2, p_.blocks(), p_.block};
  Tensor quarters = builder_.compute(std::string(kQuarters), in_quarters, [&](const Exprs& i) {
    Exprs terms;
    for (int64_t p = 0; p < kProducts; ++p) terms.push_back(products(p, i[3], i[1], i[4]));
    const Quarters q = result_of(terms);
    return element({element({q.a, q.b}, i[2]), element({q.c, q.d}, i[2])}, i[0]);
  });
  return builder_.compute("matmul_packed", shape, [&](const Exprs& i) {
    const Expr row = row_at(shape, i), block = floor_div(i.back(), p_.block);
    return quarters(floor_div(row, p_.rows()), floor_mod(row, p_.rows()),
                    floor_div(block, p_.blocks()), floor_mod(block, p_.blocks()),
                    floor_mod(i.back(), p_.block));
  });
}

}  // namespace

std::optional<Product> product_of(const te::Site& site) {
  if (site.op->name != "matmul_packed" || site.inputs[0]->dtype != DType::kF32) return std::nullopt;
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  if (!is_static(a) || !is_static(b)) return std::nullopt;
  const Ints rows = static_extents(a), matrix = static_extents(b);
  Product out{1, matrix[1], matrix[0] * matrix[2], matrix[2]};
  for (size_t d = 0; d + 1 < rows.size(); ++d) out.m *= rows[d];
  const bool fits = out.m > 1 && out.k > 0 && out.k % 2 == 0 && matrix[0] > 0 &&
                    matrix[0] % 2 == 0 && out.block > 0;
  return fits ? std::optional(out) : std::nullopt;
}

ComputeFn compute_of(const Product& product) {
  return [product](te::Builder& builder, std::span<const Tensor> in, Types types,
                   const Attrs&) -> Result<std::vector<Tensor>> {
    Stages stages(builder, product);
    const Tensor panels = stages.panels(in[1]), rows = stages.rows(in[0]);
    return std::vector<Tensor>{
        stages.result(stages.products(rows, panels), te::extents_of(*types[0]))};
  };
}

}  // namespace byoc::llvm_plugin::strassen
