// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/tile_frame.h"

namespace byoc::cuda {

te::Stmt TileFrame::kernel(Groups& groups, const std::vector<te::Tensor>& shared,
                           const std::vector<te::Tensor>& sums,
                           const std::function<te::Stmt(const OfSum&)>& each_sum,
                           const Groups::Body& slice) {
  return groups.groups(p_.batch_size * rows() * columns(), [&](const te::Expr& group) {
    enter(group);
    te::Stmt clear = each_sum([&](const te::Exprs& at, const te::Expr&, const te::Expr&) {
      return cleared(job_, sums, at);
    });
    te::Stmt add = te::loop("s", ceil_div(p_.k_size, size_.bk), slice);
    te::Stmt store = each_sum([&](const te::Exprs& at, const te::Expr& m, const te::Expr& n) {
      return stored_at(m, n, sums[0](at));
    });
    te::Stmt body = te::make_block({std::move(clear), std::move(add), std::move(store)});
    return groups.shared(shared, groups.registers(sums, std::move(body)));
  });
}

void TileFrame::enter(const te::Expr& group) {
  n0_ = te::floor_mod(group, columns()) * size_.bn;
  m0_ = te::floor_mod(te::floor_div(group, columns()), rows()) * size_.bm;
  batch_ = te::floor_div(group, rows() * columns());
}

te::Stmt TileFrame::stored_at(const te::Expr& m, const te::Expr& n, const te::Expr& sum) const {
  const te::Expr row = m0_ + m, column = n0_ + n;
  te::Stmt out = stored(job_, indices_of(job_, p_, batch_, row, column), {sum});
  if (p_.m_size % size_.bm != 0) out = te::make_if(row < te::Expr(p_.m_size), out);
  if (p_.n_size % size_.bn != 0) out = te::make_if(column < te::Expr(p_.n_size), out);
  return out;
}

// Neighbouring threads read neighbours in memory. Elements outside of the matrix are 0.
te::Stmt TileFrame::brought(const te::Expr& factor, const te::Tensor& to, bool is_a,
                            const te::Expr& t, const te::Expr& s, bool is_k_last) const {
  const te::Compute& own = job_.compute();
  const std::vector<size_t>& axes = is_a ? p_.m : p_.n;
  const int64_t width = is_a ? size_.bm : size_.bn;
  const bool is_along_k = is_adjacent_along(factor, own.reduce.back().var) &&
                          (axes.empty() || !is_adjacent_along(factor, own.axes[axes.back()].var));
  const int64_t cells = width * size_.bk, rounds = ceil_div(cells, size_.threads);
  auto bring = [&](const te::Expr& e) {
    const te::Expr cell = e * size_.threads + t;
    const te::Expr k = is_along_k ? te::floor_mod(cell, size_.bk) : te::floor_div(cell, width);
    const te::Expr w = is_along_k ? te::floor_div(cell, size_.bk) : te::floor_mod(cell, width);
    const te::Exprs at = is_k_last ? te::Exprs{w, k} : te::Exprs{k, w};
    te::Stmt out = te::make_store(to, at, element(factor, is_a, s * size_.bk + k, w));
    return cells % size_.threads == 0 ? out : te::make_if(cell < te::Expr(cells), out);
  };
  return te::loop("e", rounds, bring, te::LoopKind::kUnrolled);
}

te::Expr TileFrame::element(const te::Expr& factor, bool is_a, const te::Expr& k,
                            const te::Expr& w) const {
  const te::Expr at = (is_a ? m0_ : n0_) + w;
  const int64_t size = is_a ? p_.m_size : p_.n_size;
  const te::Exprs indices = indices_of(job_, p_, batch_, is_a ? at : 0, is_a ? te::Expr(0) : at);
  te::Expr out = at_indices(at_indices(factor, job_.compute().axes, indices), job_.compute().reduce,
                            unflattened(k, job_.reduce));
  const te::Expr zero = te::constant(factor.dtype(), 0);
  if (p_.k_size % size_.bk != 0) out = te::select(k < te::Expr(p_.k_size), out, zero);
  if (size % (is_a ? size_.bm : size_.bn) != 0) out = te::select(at < te::Expr(size), out, zero);
  return out;
}

}  // namespace byoc::cuda
