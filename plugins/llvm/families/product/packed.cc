// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/product/packed.h"

#include <algorithm>

#include "plugins/llvm/families/product/equation.h"

namespace byoc::llvm_plugin::product {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

// Returns true for products with a constant matrix that is not in panels yet: block sizes that do
// not divide its columns, or more bytes than constants that are folded.
bool has_plain_matrix(const te::Site& site) {
  if (site.op->name != "matmul" && site.op->name != "gemm") return false;
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  if (site.inputs[0]->dtype != DType::kF32 || b.size() != 2 || a.size() < 2) return false;
  if (!is_static(b) || site.attrs->b("trans_a", false)) return false;
  const Ints extents = static_extents(b);
  const int64_t columns = extents[site.attrs->b("trans_b", false) ? 0 : 1];
  return site.attrs->f("alpha", 1) == 1 && columns >= panel_columns(*site.target) &&
         extents[0] * extents[1] > 0 && has_constant_weight(site);
}

// Computes y[.., m, n] over k of panels[n / block, k, n % block], a stage of the constant matrix
// alone. The last panel is filled up with zeros.
te::Strategy packed_product(int64_t block) {
  te::Strategy out{.name = kPackedCompute, .level = kPreferred};
  out.compute =
      with_open_sizes([block](te::Builder& builder, std::span<const Tensor> in, Types types,
                              const Attrs& attrs) -> Result<std::vector<Tensor>> {
        const Tensor a = in[0], b = in[1];
        const bool is_transposed = attrs.b("trans_b", false);
        const int64_t n = types[0]->shape.back().extent(),
                      k = *te::as_int(b.shape()[is_transposed ? 1 : 0]);
        Tensor panels =
            builder.compute("panels", {(n + block - 1) / block, k, block}, [&](const Exprs& i) {
              const Expr column = i[0] * block + i[2];
              Expr value = is_transposed ? b(column, i[1]) : b(i[1], column);
              return n % block == 0 ? value
                                    : te::select(column < n, value, te::constant(DType::kF32, 0));
            });
        return std::vector<Tensor>{builder.reduce(
            "product", te::extents_of(*types[0]), {k}, te::sum_of(DType::kF32),
            [&](const Exprs& i, const Exprs& r) {
              Exprs at = i;
              at.back() = r[0];
              return a(at) * panels(floor_div(i.back(), block), r[0], floor_mod(i.back(), block));
            })};
      });
  return out;
}

}  // namespace

void add_computes(const FamilyCall& call, Strategies& out) {
  if (has_plain_matrix(call.site)) {
    out.push_back(packed_product(panel_columns(*call.site.target)));
  } else {
    add_equation_computes(call, out);
  }
}

topi::Sums packed_sums(const std::vector<int64_t>& shape, size_t rows, int64_t k, int64_t block,
                       const te::Target& target) {
  constexpr int64_t kTaps = 8;
  topi::Sums sums{.units = shape[rows], .is_flat = true, .may_join_blocks = false};
  sums.registers = std::max<int64_t>(block / target.lanes(4), 1);
  sums.lanes = block;
  sums.o = (shape.back() + block - 1) / block;
  for (size_t d = 0; d < rows; ++d) sums.n *= shape[d];
  sums.taps = k % kTaps == 0 ? kTaps : 1;
  sums.c = k / sums.taps;
  sums.block_bytes = sums.taps * 4;
  sums.row_bytes = k * 4;
  return sums;
}

}  // namespace byoc::llvm_plugin::product
