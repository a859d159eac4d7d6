// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/attention/frame.h"

#include <limits>

#include "byoc/te/rewrite.h"

namespace byoc::cuda {

AttentionFrame::AttentionFrame(const Job& job, const Attention& attention,
                               const AttentionSize& size, te::Expr q, te::Expr k, te::Expr v,
                               int64_t depth, int64_t columns)
    : job_(job),
      a_(attention),
      size_(size),
      q_(std::move(q)),
      k_(std::move(k)),
      v_(std::move(v)),
      depth_(depth),
      columns_(columns) {}

te::Stmt AttentionFrame::kernel(Groups& groups, const std::vector<te::Tensor>& shared,
                                const std::vector<te::Tensor>& registers, const Parts& parts) {
  const int64_t blocks_of_queries = ceil_div(a_.values.m_size, size_.queries);
  return groups.groups(a_.values.batch_size * blocks_of_queries, [&](const te::Expr& group) {
    batch_ = te::floor_div(group, blocks_of_queries);
    first_query_ = te::floor_mod(group, blocks_of_queries) * size_.queries;
    te::Stmt begin = groups.threads(size_.threads, parts.begin);
    te::Stmt add = te::loop("b", ceil_div(a_.values.k_size, size_.keys), parts.block);
    te::Stmt end = groups.threads(size_.threads, parts.end);
    te::Stmt body = te::make_block({std::move(begin), std::move(add), std::move(end)});
    return groups.shared(shared, groups.registers(registers, std::move(body)));
  });
}

// Returns an expression of the job's axes at a place.
te::Expr AttentionFrame::at(const te::Expr& x, const te::Expr& query, const te::Expr& key,
                            const te::Expr& column) const {
  const te::Compute& own = job_.compute();
  return at_indices(at_indices(x, own.axes, indices_of(job_, a_.values, batch_, query, column)),
                    own.reduce, {key});
}

// Neighbouring threads read neighbours in memory.
te::Stmt AttentionFrame::brought(
    const te::Tensor& to, int64_t rows, int64_t numbers, bool is_along_row, const te::Expr& t,
    const Place& place,
    const std::function<te::Expr(const te::Expr&, const te::Expr&)>& element) const {
  const int64_t cells = rows * numbers;
  return te::loop("e", ceil_div(cells, size_.threads), [&](const te::Expr& e) {
    const te::Expr cell = e * size_.threads + t;
    const te::Expr row = is_along_row ? te::floor_div(cell, numbers) : te::floor_mod(cell, rows);
    const te::Expr number = is_along_row ? te::floor_mod(cell, numbers) : te::floor_div(cell, rows);
    te::Stmt out = te::make_store(to, place(row, number), element(row, number));
    return cells % size_.threads == 0 ? out : te::make_if(cell < te::Expr(cells), out);
  });
}

te::Expr AttentionFrame::or_zero(const te::Expr& value, const te::Expr& row, const te::Expr& rows,
                                 const te::Expr& number, int64_t numbers) const {
  return te::select(row < rows && number < te::Expr(numbers), value,
                    te::constant(value.dtype(), 0));
}

te::Stmt AttentionFrame::brought_q(const te::Tensor& to, const te::Expr& t,
                                   const Place& place) const {
  const bool is_along_row = is_adjacent_along(q_, a_.depth.back().var);
  return brought(to, size_.queries, depth_, is_along_row, t, place,
                 [&](const te::Expr& row, const te::Expr& number) {
                   const te::Expr query = first_query_ + row;
                   const te::Expr value =
                       at_indices(at(q_, query, 0, 0), a_.depth, unflattened(number, a_.depths));
                   return or_zero(value, query, a_.values.m_size, number, a_.depth_size());
                 });
}

te::Stmt AttentionFrame::brought_k(const te::Tensor& to, const te::Expr& t, const te::Expr& block,
                                   const Place& place) const {
  const bool is_along_row = is_adjacent_along(k_, a_.depth.back().var);
  return brought(to, size_.keys, depth_, is_along_row, t, place,
                 [&](const te::Expr& row, const te::Expr& number) {
                   const te::Expr key = block * size_.keys + row;
                   const te::Expr value =
                       at_indices(at(k_, 0, key, 0), a_.depth, unflattened(number, a_.depths));
                   return or_zero(value, key, a_.values.k_size, number, a_.depth_size());
                 });
}

te::Stmt AttentionFrame::brought_v(const te::Tensor& to, const te::Expr& t, const te::Expr& block,
                                   const Place& place) const {
  const te::Compute& own = job_.compute();
  const bool is_along_row = !is_adjacent_along(v_, own.reduce.back().var) ||
                            is_adjacent_along(v_, own.axes[a_.values.n.back()].var);
  return brought(to, size_.keys, columns_, is_along_row, t, place,
                 [&](const te::Expr& row, const te::Expr& number) {
                   const te::Expr key = block * size_.keys + row;
                   return or_zero(at(v_, 0, key, number), key, a_.values.k_size, number,
                                  a_.values.n_size);
                 });
}

te::Expr AttentionFrame::score(const te::Expr& query, const te::Expr& block, const te::Expr& key,
                               const te::Expr& dot) const {
  const te::Expr row = first_query_ + query, column = block * size_.keys + key;
  te::Substitution with_dot({{a_.dot.id(), dot}});
  const te::Expr value = with_dot(at(a_.score, row, column, 0));
  return te::select(row < te::Expr(a_.values.m_size) && column < te::Expr(a_.values.k_size), value,
                    no_score());
}

te::Expr AttentionFrame::greater(const te::Expr& a, const te::Expr& b) const {
  te::Substitution combine({{a_.greatest.lhs[0].id(), a}, {a_.greatest.rhs[0].id(), b}});
  return combine(a_.greatest.result[0]);
}

te::Stmt AttentionFrame::stored_at(const te::Expr& query, const te::Expr& column,
                                   const te::Expr& weighted, const te::Expr& sum) const {
  const te::Expr row = first_query_ + query;
  te::Expr value = weighted / sum;
  if (!a_.is_zero.is_empty())
    value = te::select(at(a_.is_zero, row, 0, column), te::constant(value.dtype(), 0), value);
  return te::make_if(row < te::Expr(a_.values.m_size) && column < te::Expr(a_.values.n_size),
                     stored(job_, indices_of(job_, a_.values, batch_, row, column), {value}));
}

te::Stmt cleared_rows(const te::Tensor& top, const te::Tensor& sum, const te::Expr& t,
                      int64_t rows) {
  return each(rows, [&](const te::Expr& i) {
    return te::make_block({te::make_store(top, {t, i}, no_score()),
                           te::make_store(sum, {t, i}, te::constant(sum.dtype(), 0))});
  });
}

te::Expr no_score() { return te::constant(DType::kF32, -std::numeric_limits<double>::infinity()); }

te::Expr exp_below(const te::Expr& x, const te::Expr& top) {
  const te::Expr shift = te::select(top == no_score(), te::constant(DType::kF32, 0), top);
  return te::unary(te::UnaryOp::kExp, x - shift);
}

te::Stmt attention_kernel(const Job& job, const Attention& attention, Groups& groups) {
  if (std::optional<te::Stmt> out = mma_attention(job, attention, groups)) return *std::move(out);
  return fma_attention(job, attention, groups);
}

}  // namespace byoc::cuda
