// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks of rows of queries that read the same head of k and v. Row r of all is query r / group of
// head r % group of the group. Keys are read in blocks, with a running maximum of the scores:
//   scores = scale q k^T;  top' = max(top, scores);  p = e^(scores - top')
//   sum = sum e^(top - top') + p;  acc = acc e^(top - top') + p v;  y = acc / sum
#include <limits>

#include "byoc/te/target.h"
#include "core/op/kernel/attention/attention.h"

namespace byoc::op::attention {

using te::LoopKind;
using te::Stmt;

inline constexpr int64_t kKeys = 64;   // of a block
inline constexpr int64_t kLanes = 16;  // of a vector
inline constexpr double kNone = -std::numeric_limits<double>::infinity();

inline Expr exponential(const Expr& x) { return te::unary(te::UnaryOp::kExp, x); }
/// Makes a loop over the lanes of vectors; nothing for no lanes.
Stmt lanes(int64_t extent, const std::function<Stmt(Expr)>& body);
/// Returns term(0) + term(1) + ..., or another combination.
Expr joined(int64_t count, const ExprFn2& join, const std::function<Expr(int64_t)>& term);

/// One block of rows.
struct Rows {
  const CachedAttention& plan;
  Inputs in;
  Tensor y;
  DType dtype;                      // of scores and sums
  Expr s;                           // queries of an image and head
  Expr image, head, begin, length;  // begin: the first row
  Expr first, end;                  // of the keys that any of the rows may see
  int64_t registers;                // the vectors of kLanes numbers that they hold

  /// `target`: null where it is not known.
  Rows(const CachedAttention& plan, Inputs in, Tensor y, DType dtype, const te::Target* target);

  Expr all() const { return s * plan.group(); }  // rows that a head of k and v serves
  Expr number(double value) const { return literal(dtype, value); }
  Expr query(const Expr& row) const { return floor_div(row, plan.group()); }
  Expr query_head(const Expr& row) const {
    return head * plan.group() + floor_mod(row, plan.group());
  }
  /// Returns an element of q, k or v.
  Expr operand(size_t k, int64_t size, const Expr& of_head, const Expr& position,
               const Expr& column) const;
  /// Returns the place of an element of the result.
  Exprs place(const Expr& row, const Expr& column) const;

  /// Return the bounds of the keys that the query at `i` sees: [first, end).
  Expr first_of(const Expr& i) const;
  Expr end_of(const Expr& i) const;
  /// Returns true where rows of a block may see different keys.
  bool has_own_keys() const {
    return plan.has_bounds() && te::as_int(s) != std::optional<int64_t>(1);
  }
  /// Returns the score with the cap and the mask.
  Expr masked(Expr score, const Expr& row, const Expr& key) const;
  /// Names length, begin, and the bounds of the keys of `count` rows around `body`.
  Stmt with_bounds(const Expr& own_length, const Expr& first_row, const Expr& last_row,
                   const std::function<Stmt()>& body);
};

/// Returns how many of at least `all` rows a block has that keeps its results in registers.
int64_t few_rows(const CachedAttention& plan, int64_t all);
/// Returns the work of such a block; rows before first_row belong to another one.
Stmt block_of_few_rows(Rows rows, int64_t count, const Expr& first_row, const Expr& length);
/// Returns the work of a block of kLanes rows, each in a lane of its own: keys and values are read
/// as they are in the cache, an element for all rows. The last block may have fewer.
Stmt block_of_many_rows(Rows rows, const Expr& first_row, const Expr& length);

}  // namespace byoc::op::attention
