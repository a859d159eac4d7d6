// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/strassen/compute.h"

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

Tensor panels_of(te::Builder& builder, const Product& p, const Operands& operands) {
  const Exprs shape = {p.blocks() / p.panel, kProducts, p.panel, p.terms(), p.block};
  return builder.compute(std::string(kPanels), shape, [&](const Exprs& i) {
    auto at = [&](int64_t down, int64_t across) {
      const Expr block = i[0] * p.panel + i[2] + across * p.blocks();
      return te::cast(DType::kF64, operands.matrix(block, i[3] + down * p.terms(), i[4]));
    };
    const Exprs all = right_operands({at(0, 0), at(0, 1), at(1, 0), at(1, 1)});
    return te::cast(DType::kF32, element(all, i[1]));
  });
}

Tensor rows_of(te::Builder& builder, const Product& p, const Operands& operands) {
  const int64_t block = p.adjacent();
  const Expr bands = operands.bands.is_empty() ? Expr(p.bands) : operands.bands;
  const Exprs shape = {bands, kProducts, p.terms() / block, p.rows(), block};
  return builder.compute(std::string(kRows), shape, [&](const Exprs& i) {
    auto at = [&](int64_t down, int64_t across) {
      const Expr term = i[2] * block + i[4] + across * p.terms();
      return operands.rows(i[0], i[3] + down * p.rows(), term);
    };
    return element(left_operands({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}), i[1]);
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

Tensor quarters_of(te::Builder& builder, const Product& p, const Operands& operands) {
  const Tensor panels = panels_of(builder, p, operands), rows = rows_of(builder, p, operands);
  const Exprs terms = {p.terms() / p.adjacent(), p.adjacent()};
  const Tensor products = builder.reduce(
      std::string(kProductsName), {rows.shape()[0], kProducts, p.blocks(), p.rows(), p.block},
      terms, te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
        return rows(i[0], i[1], r[0], i[3], r[1]) * panels(floor_div(i[2], p.panel), i[1],
                                                           floor_mod(i[2], p.panel),
                                                           r[0] * p.adjacent() + r[1], i[4]);
      });
  const Exprs shape = {rows.shape()[0], 2, p.rows(), 2, p.blocks(), p.block};
  return builder.compute(std::string(kQuarters), shape, [&](const Exprs& i) {
    Exprs terms;
    for (int64_t k = 0; k < kProducts; ++k) terms.push_back(products(i[0], k, i[4], i[2], i[5]));
    const Quarters q = result_of(terms);
    return element({element({q.a, q.b}, i[3]), element({q.c, q.d}, i[3])}, i[1]);
  });
}

Expr element_of(const Tensor& quarters, const Product& p, const Expr& band, const Expr& row,
                const Expr& block, const Expr& column) {
  return quarters(band, floor_div(row, p.rows()), floor_mod(row, p.rows()),
                  floor_div(block, p.blocks()), floor_mod(block, p.blocks()), column);
}

namespace {

// Returns the product of the rows of x, all its axes but the last, with a matrix, in this shape.
Tensor product_of_rows(te::Builder& builder, const Product& p, const Tensor& x,
                       const MatrixElement& matrix, const std::string& name, const Exprs& shape) {
  auto row_of_x = [&](const Expr&, const Expr& row, const Expr& term) {
    Exprs place = place_of_row(x.shape(), row);
    place.push_back(term);
    return p.m % 2 == 0 ? x(place) : te::select(row < p.m, x(place), te::constant(DType::kF32, 0));
  };
  const Tensor quarters = quarters_of(builder, p, {row_of_x, matrix});
  return builder.compute(name, shape, [&](const Exprs& i) {
    return element_of(quarters, p, 0, row_at(shape, i), floor_div(i.back(), p.block),
                      floor_mod(i.back(), p.block));
  });
}

}  // namespace

ComputeFn compute_of(const Product& product) {
  return [product](te::Builder& builder, std::span<const Tensor> in, Types types,
                   const Attrs&) -> Result<std::vector<Tensor>> {
    auto matrix = [&](const Expr& j, const Expr& k, const Expr& b) { return in[1](j, k, b); };
    return std::vector<Tensor>{product_of_rows(builder, product, in[0], matrix, "matmul_packed",
                                               te::extents_of(*types[0]))};
  };
}

Tensor add_product(te::Builder& builder, const Product& product, const Tensor& x,
                   const MatrixElement& matrix) {
  return product_of_rows(builder, product, x, matrix, std::string(kResult), {product.m, product.n});
}

}  // namespace byoc::llvm_plugin::strassen
