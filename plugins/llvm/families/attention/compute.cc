// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/attention/compute.h"

#include "byoc/te/simplify.h"

namespace byoc::llvm_plugin::attention {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

// Returns the index of an operand in the leading dims of a result.
Exprs leading(const Tensor& operand, const Exprs& i) {
  const size_t count = operand.rank() - 2, shift = i.size() - operand.rank();
  Exprs out;
  for (size_t d = 0; d < count; ++d)
    out.push_back(te::as_int(operand.shape()[d]) == 1 ? Expr(0) : i[d + shift]);
  return out;
}

Exprs with(Exprs at, std::initializer_list<Expr> more) {
  at.insert(at.end(), more);
  return at;
}

Expr panels_along(const Expr& columns, int64_t lanes) {
  if (const std::optional<int64_t> count = te::as_int(columns)) return (*count + lanes - 1) / lanes;
  return floor_div(columns + (lanes - 1), lanes);
}

// Returns the matrices y [.., k, n] in panels of columns, [.., n / lanes, k, lanes].
Tensor panels_of(te::Builder& builder, std::string_view name, const Tensor& y, int64_t lanes) {
  const size_t rank = y.rank();
  const Expr columns = y.shape()[rank - 1];
  const bool is_whole = te::as_int(columns).value_or(1) % lanes == 0;
  Exprs shape(y.shape().begin(), y.shape().end() - 2);
  shape = with(std::move(shape), {panels_along(columns, lanes), y.shape()[rank - 2], lanes});
  return builder.compute(std::string(name), shape, [&](const Exprs& i) {
    const Expr column = i[rank - 2] * lanes + i[rank];
    const Expr value = y(with(Exprs(i.begin(), i.begin() + static_cast<ptrdiff_t>(rank) - 2),
                              {i[rank - 1], column}));
    return is_whole ? value : te::select(column < columns, value, te::constant(DType::kF32, 0));
  });
}

Tensor queries_of(te::Builder& builder, const Tensor& x) {
  return builder.compute(std::string(kQueries), x.shape(), [&](const Exprs& i) { return x(i); });
}

}  // namespace

ComputeFn compute_of(bool is_scores, int64_t lanes) {
  return with_open_sizes([is_scores, lanes](te::Builder& builder, std::span<const Tensor> in,
                                            Types out,
                                            const Attrs&) -> Result<std::vector<Tensor>> {
    const Tensor x = is_scores ? queries_of(builder, in[0]) : in[0];
    const Tensor panels = panels_of(builder, is_scores ? kKeys : kValues, in[1], lanes);
    const Exprs whole = te::extents_of(*out[0]);
    Exprs shape = whole;
    shape.back() = te::simplify(panels_along(shape.back(), lanes) * lanes);
    const Expr terms = x.shape().back();
    const Tensor sums = builder.reduce(
        std::string(is_scores ? kScores : kResults), shape, {terms}, te::sum_of(DType::kF32),
        [&](const Exprs& i, const Exprs& r) {
          const Expr &row = i[i.size() - 2], &column = i.back();
          return x(with(leading(x, i), {row, r[0]})) *
                 panels(with(leading(in[1], i),
                             {floor_div(column, lanes), r[0], floor_mod(column, lanes)}));
        });
    return std::vector<Tensor>{
        builder.compute("matmul", whole, [&](const Exprs& i) { return sums(i); })};
  });
}

}  // namespace byoc::llvm_plugin::attention
