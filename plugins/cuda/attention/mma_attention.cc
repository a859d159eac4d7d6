// SPDX-License-Identifier: Apache-2.0
// Attention of f16 and bf16 by tensor cores. A group has 64 queries, and each of its four warps has
// 16: a thread has the scores of two rows, g and g + 8. The sums of the first product are, as
// they lie, the left factor of the second one, rounded to 16 bits. The four threads of a row
// exchange their greatest scores and their sums.
//   groups g { shared q[64, D], k[32, D], v[E, 32]; registers acc, score, weight, top, sum
//     for b in blocks { threads { k = .., v = .. }
//                       threads { score = f(q k); top' = max(top, score); weight = e^(score - top')
//                                 acc, sum *= e^(top - top'); sum += weight; acc += weight v } }
//     threads { y = acc / sum } }
#include "plugins/cuda/attention/frame.h"
#include "plugins/cuda/loops/mma.h"

namespace byoc::cuda {
namespace {

using namespace mma;

int64_t padded(int64_t x, int64_t to) { return ceil_div(x, to) * to; }

class MmaAttention {
 public:
  MmaAttention(const Job& job, const Attention& a, const te::Expr& q, const te::Expr& k,
               const te::Expr& v, Groups& groups)
      : depth_(padded(a.depth_size(), kTerms)),
        columns_(padded(a.values.n_size, kColumns)),
        frame_(job, a, kSize, q, k, v, depth_, columns_),
        groups_(groups),
        q_("q", q.dtype(), {kSize.queries, depth_ + kPad}),
        k_("k", k.dtype(), {kSize.keys, depth_ + kPad}),
        v_("v", v.dtype(), {columns_, kSize.keys + kPad}),
        acc_("acc", DType::kF32, {kSize.threads, columns_ / kColumns, kSums}),
        score_("score", DType::kF32, {kSize.threads, kTilesOfKeys, kSums}),
        weight_("weight", q.dtype(), {kSize.threads, kSize.keys / kTerms, 2 * kHalf}),
        top_("top", DType::kF32, {kSize.threads, kOwnRows}),
        sum_("sum", DType::kF32, {kSize.threads, kOwnRows}),
        other_("other", DType::kF32, {kSize.threads, kOwnRows}) {}

  te::Stmt kernel() {
    return frame_.kernel(groups_, {q_, k_, v_}, {acc_, score_, weight_, top_, sum_, other_},
                         {.begin = [&](const te::Expr& t) { return begin(t); },
                          .block = [&](const te::Expr& b) { return block(b); },
                          .end = [&](const te::Expr& t) { return end(t); }});
  }

 private:
  static constexpr AttentionSize kSize = {64, 32, 128};
  static constexpr int64_t kTilesOfKeys = kSize.keys / kColumns, kOwnRows = 2;
  // The left factor of the second product in registers: terms from 8 on, and the row g + 8.
  static constexpr int64_t kHalf = 8, kNextRow = 2;

  /// The place of a thread: its first row in the block of queries, and its place in columns.
  struct Place {
    te::Expr row, group, pair;
  };
  static Place place_of(const te::Expr& t) {
    const te::Expr lane = te::floor_mod(t, kWarp), group = te::floor_div(lane, 4);
    return {te::floor_div(t, kWarp) * kRows + group, group, te::floor_mod(lane, 4) * 2};
  }
  te::Stmt threads(const Groups::Body& body) { return groups_.threads(kSize.threads, body); }
  // Calls body(j, r) for the sums of `tiles` tiles.
  template <class Body>
  static te::Stmt each_sum(int64_t tiles, Body&& body) {
    return each(tiles, [&](const te::Expr& j) {
      return each(kSums, [&](const te::Expr& r) { return body(j, r); });
    });
  }
  static te::Expr row_of(const Place& at, const te::Expr& r) {
    return at.row + te::floor_div(r, 2) * 8;
  }
  static te::Expr column_of(const Place& at, const te::Expr& j, const te::Expr& r) {
    return j * kColumns + at.pair + te::floor_mod(r, 2);
  }

  te::Stmt begin(const te::Expr& t) {
    auto clear_sum = [&](const te::Expr& j, const te::Expr& r) {
      return te::make_store(acc_, {t, j, r}, te::constant(DType::kF32, 0));
    };
    return te::make_block({frame_.brought_q(q_, t, by_row), cleared_rows(top_, sum_, t, kOwnRows),
                           each_sum(columns_ / kColumns, clear_sum)});
  }

  te::Stmt block(const te::Expr& b) {
    te::Stmt bring = threads([&](const te::Expr& t) {
      return te::make_block(
          {frame_.brought_k(k_, t, b, by_row), frame_.brought_v(v_, t, b, by_number)});
    });
    te::Stmt add = threads([&](const te::Expr& t) {
      const Place at = place_of(t);
      auto own = [&](const te::Expr& i) { return weights_of(t, i); };
      return te::make_block({scores_of(t, at, b), each(kOwnRows, own), rounded(t), added(t, at)});
    });
    return te::make_block({std::move(bring), std::move(add)});
  }

  te::Stmt scores_of(const te::Expr& t, const Place& at, const te::Expr& b) {
    te::Stmt clear = each_sum(kTilesOfKeys, [&](const te::Expr& j, const te::Expr& r) {
      return te::make_store(score_, {t, j, r}, te::constant(DType::kF32, 0));
    });
    te::Stmt dots = each(depth_ / kTerms, [&](const te::Expr& d) {
      const te::Expr first = d * kTerms + at.pair;
      return each(kTilesOfKeys, [&](const te::Expr& j) {
        return mma::added({score_, {t, j, 0}}, {q_, {at.row, first}},
                          {k_, {j * kColumns + at.group, first}}, 8 * (depth_ + kPad));
      });
    });
    te::Stmt end = each_sum(kTilesOfKeys, [&](const te::Expr& j, const te::Expr& r) {
      return te::make_store(score_, {t, j, r},
                            frame_.score(row_of(at, r), b, column_of(at, j, r), score_(t, j, r)));
    });
    return te::make_block({std::move(clear), std::move(dots), std::move(end)});
  }

  // Makes: x[i] = join of x[i] of the four threads of a row.
  template <class Join>
  te::Stmt joined(const te::Tensor& x, const te::Expr& t, const te::Expr& i, Join&& join) {
    auto step = [&](int64_t by) {
      return te::make_block({exchanged({other_, {t, i}}, {x, {t, i}}, by),
                             te::make_store(x, {t, i}, join(x(t, i), other_(t, i)))});
    };
    return te::make_block({step(1), step(2)});
  }

  te::Stmt weights_of(const te::Expr& t, const te::Expr& i) {
    const te::Var before("before", DType::kF32), factor("factor", DType::kF32);
    // Calls body(j, r) for the numbers of row i of each tile.
    auto each_of_row = [&](int64_t tiles, auto&& body) {
      return each(tiles, [&](const te::Expr& j) {
        return each(2, [&](const te::Expr& r) { return body(j, i * 2 + r); });
      });
    };
    auto greater = [&](const te::Expr& a, const te::Expr& b) { return frame_.greater(a, b); };
    te::Stmt greatest = each_of_row(kTilesOfKeys, [&](const te::Expr& j, const te::Expr& r) {
      return te::make_store(top_, {t, i}, greater(top_(t, i), score_(t, j, r)));
    });
    te::Stmt scale = each_of_row(columns_ / kColumns, [&](const te::Expr& j, const te::Expr& r) {
      return te::make_store(acc_, {t, j, r}, acc_(t, j, r) * te::Expr(factor));
    });
    te::Stmt weights = each_of_row(kTilesOfKeys, [&](const te::Expr& j, const te::Expr& r) {
      return te::make_block(
          {te::make_store(score_, {t, j, r}, exp_below(score_(t, j, r), top_(t, i))),
           te::make_store(sum_, {t, i}, sum_(t, i) + score_(t, j, r))});
    });
    te::Stmt body = te::make_block({te::make_store(sum_, {t, i}, sum_(t, i) * te::Expr(factor)),
                                    std::move(scale), std::move(weights)});
    body = te::make_let(factor, exp_below(before, top_(t, i)), std::move(body));
    return te::make_let(
        before, top_(t, i),
        te::make_block({std::move(greatest), joined(top_, t, i, greater), std::move(body)}));
  }

  // Two tiles of scores side by side are 16 terms of the left factor of the second product.
  te::Stmt rounded(const te::Expr& t) {
    return each_sum(kTilesOfKeys, [&](const te::Expr& j, const te::Expr& r) {
      const te::Expr at = te::floor_mod(j, 2) * kHalf + r;
      return te::make_store(weight_, {t, te::floor_div(j, 2), at},
                            te::cast(weight_.dtype(), score_(t, j, r)));
    });
  }

  te::Stmt added(const te::Expr& t, const Place& at) {
    return each(kSize.keys / kTerms, [&](const te::Expr& k) {
      return each(columns_ / kColumns, [&](const te::Expr& j) {
        return mma::added({acc_, {t, j, 0}}, {weight_, {t, k, 0}},
                          {v_, {j * kColumns + at.group, k * kTerms + at.pair}}, kNextRow);
      });
    });
  }

  te::Stmt end(const te::Expr& t) {
    const Place at = place_of(t);
    auto sums = [&](const te::Expr& i) {
      return joined(sum_, t, i, [](const te::Expr& a, const te::Expr& b) { return a + b; });
    };
    te::Stmt store = each_sum(columns_ / kColumns, [&](const te::Expr& j, const te::Expr& r) {
      return frame_.stored_at(row_of(at, r), column_of(at, j, r), acc_(t, j, r),
                              sum_(t, te::floor_div(r, 2)));
    });
    return te::make_block({each(kOwnRows, sums), std::move(store)});
  }

  const int64_t depth_, columns_;
  AttentionFrame frame_;
  Groups& groups_;
  te::Tensor q_, k_, v_, acc_, score_, weight_, top_, sum_, other_;
};

}  // namespace

std::optional<te::Stmt> mma_attention(const Job& job, const Attention& attention, Groups& groups) {
  for (DType type : {DType::kF16, DType::kBF16}) {
    const te::Expr q = as_small(attention.q, type), k = as_small(attention.k, type),
                   v = as_small(attention.values.b, type);
    if (!q.is_empty() && !k.is_empty() && !v.is_empty())
      return MmaAttention(job, attention, q, k, v, groups).kernel();
  }
  return std::nullopt;
}

}  // namespace byoc::cuda
