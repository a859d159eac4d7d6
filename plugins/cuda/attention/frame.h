// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common parts of the kernels of attention: a group has a block of queries of one batch, and
// reads keys and values in blocks.
#include "plugins/cuda/attention/attention.h"
#include "plugins/cuda/loops/tile_frame.h"

namespace byoc::cuda {

/// Queries of a group, keys of a block, and threads of the group.
struct AttentionSize {
  int64_t queries, keys, threads;
};

class AttentionFrame {
 public:
  /// q, k and v: the factors, which may be of another type than in the product. The sizes of rows
  /// in shared memory, of which those beyond the numbers of a head are 0: depth, columns.
  AttentionFrame(const Job& job, const Attention& attention, const AttentionSize& size, te::Expr q,
                 te::Expr k, te::Expr v, int64_t depth, int64_t columns);

  /// The parts of a kernel: statements of a thread, of a block of keys, of a thread.
  struct Parts {
    Groups::Body begin, block, end;
  };
  te::Stmt kernel(Groups& groups, const std::vector<te::Tensor>& shared,
                  const std::vector<te::Tensor>& registers, const Parts& parts);

  /// Where an element goes: at a row (of a query, or of a key of the block) and a number of it.
  using Place = std::function<te::Exprs(const te::Expr& row, const te::Expr& number)>;
  /// Make the statements with which thread `t` brings its part of the queries, or of the keys or
  /// values of a block, to shared memory. Rows beyond the last one are 0.
  te::Stmt brought_q(const te::Tensor& to, const te::Expr& t, const Place& place) const;
  te::Stmt brought_k(const te::Tensor& to, const te::Expr& t, const te::Expr& block,
                     const Place& place) const;
  te::Stmt brought_v(const te::Tensor& to, const te::Expr& t, const te::Expr& block,
                     const Place& place) const;

  /// Returns the score of a query of the group and a key of the block; -inf outside of the matrix.
  te::Expr score(const te::Expr& query, const te::Expr& block, const te::Expr& key,
                 const te::Expr& dot) const;
  /// Returns the greater score, NaN when one is.
  te::Expr greater(const te::Expr& a, const te::Expr& b) const;
  /// Makes the statement that stores a result, if there is such.
  te::Stmt stored_at(const te::Expr& query, const te::Expr& column, const te::Expr& weighted,
                     const te::Expr& sum) const;

 private:
  te::Expr at(const te::Expr& x, const te::Expr& query, const te::Expr& key,
              const te::Expr& column) const;
  te::Stmt brought(const te::Tensor& to, int64_t rows, int64_t numbers, bool is_along_row,
                   const te::Expr& t, const Place& place,
                   const std::function<te::Expr(const te::Expr&, const te::Expr&)>& element) const;
  te::Expr or_zero(const te::Expr& value, const te::Expr& row, const te::Expr& rows,
                   const te::Expr& number, int64_t numbers) const;

  const Job& job_;
  const Attention& a_;
  AttentionSize size_;
  te::Expr q_, k_, v_;
  int64_t depth_, columns_;
  te::Expr batch_, first_query_;
};

/// The places of brought numbers: a row of them after another, or transposed.
inline te::Exprs by_row(const te::Expr& row, const te::Expr& number) { return {row, number}; }
inline te::Exprs by_number(const te::Expr& row, const te::Expr& number) { return {number, row}; }
/// Makes an unrolled loop.
template <class Body>
te::Stmt each(int64_t extent, Body&& body) {
  return te::loop("i", extent, body, kUnrolled);
}
/// Makes: top[t, i] = no score, sum[t, i] = 0, for so many rows i.
te::Stmt cleared_rows(const te::Tensor& top, const te::Tensor& sum, const te::Expr& t,
                      int64_t rows);
/// Returns minus infinity, the score of keys that are not there.
te::Expr no_score();
/// Returns e^(x - top); 0 for a row all of whose scores are minus infinity so far.
te::Expr exp_below(const te::Expr& x, const te::Expr& top);

/// The kernel whose dot products and sums are fused multiply-adds of single threads, exact.
te::Stmt fma_attention(const Job& job, const Attention& attention, Groups& groups);
/// The kernel by tensor cores; nullopt where factors are not f16 or bf16.
std::optional<te::Stmt> mma_attention(const Job& job, const Attention& attention, Groups& groups);

}  // namespace byoc::cuda
