// SPDX-License-Identifier: Apache-2.0
// A group has 32 queries; its 128 threads are 16 rows of 8. Thread (r, c) has the scores of the
// rows r and r + 16 with every 8th key of a block from c on, and every 8th column of the results.
//   groups g { shared q[D, 32], kv[32, max(D, E)], p[32, 32]; registers acc, score, top, sum
//     for b in blocks { threads { kv = k of b }
//                       threads { score = f(q kv); p = score }
//                       threads { top' = max(top, row of p); score = e^(score - top');
//                                 acc, sum *= e^(top - top'); kv = v of b }
//                       threads { p = score }
//                       threads { acc += p kv; sum += p } }
//     threads { y = acc / sum } }
#include <algorithm>

#include "plugins/cuda/attention/frame.h"

namespace byoc::cuda {
namespace {

class FmaAttention {
 public:
  FmaAttention(const Job& job, const Attention& a, Groups& groups)
      : depth_(a.depth_size()),
        columns_(ceil_div(a.values.n_size, kLanes) * kLanes),
        frame_(job, a, kSize, a.q, a.k, a.values.b, depth_, columns_),
        groups_(groups),
        q_("q", DType::kF32, {depth_, kSize.queries + 1}),
        kv_("kv", DType::kF32, {kSize.keys, std::max(depth_, columns_) + 1}),
        p_("p", DType::kF32, {kSize.queries, kSize.keys + 1}),
        acc_("acc", DType::kF32, {kSize.threads, kRows, columns_ / kLanes}),
        score_("score", DType::kF32, {kSize.threads, kRows, kOwnKeys}),
        top_("top", DType::kF32, {kSize.threads, kRows}),
        sum_("sum", DType::kF32, {kSize.threads, kRows}) {}

  te::Stmt kernel() {
    return frame_.kernel(groups_, {q_, kv_, p_}, {acc_, score_, top_, sum_},
                         {.begin = [&](const te::Expr& t) { return begin(t); },
                          .block = [&](const te::Expr& b) { return block(b); },
                          .end = [&](const te::Expr& t) { return end(t); }});
  }

 private:
  static constexpr AttentionSize kSize = {32, 32, 128};
  static constexpr int64_t kLanes = 8, kRowsApart = kSize.threads / kLanes,
                           kRows = kSize.queries / kRowsApart, kOwnKeys = kSize.keys / kLanes;

  te::Stmt threads(const Groups::Body& body) { return groups_.threads(kSize.threads, body); }
  static te::Expr row_of(const te::Expr& t, const te::Expr& i) {
    return i * kRowsApart + te::floor_div(t, kLanes);
  }
  static te::Expr column_of(const te::Expr& t, const te::Expr& j) {
    return j * kLanes + te::floor_mod(t, kLanes);
  }
  template <class Body>
  static te::Stmt each_pair(int64_t columns, Body&& body) {
    return each(kRows, [&](const te::Expr& i) {
      return each(columns, [&](const te::Expr& j) { return body(i, j); });
    });
  }

  te::Stmt begin(const te::Expr& t) {
    auto clear_sum = [&](const te::Expr& i, const te::Expr& j) {
      return te::make_store(acc_, {t, i, j}, te::constant(DType::kF32, 0));
    };
    return te::make_block({frame_.brought_q(q_, t, by_number), cleared_rows(top_, sum_, t, kRows),
                           each_pair(columns_ / kLanes, clear_sum)});
  }

  te::Stmt block(const te::Expr& b) {
    te::Stmt keys = threads([&](const te::Expr& t) { return frame_.brought_k(kv_, t, b, by_row); });
    te::Stmt scores = threads([&](const te::Expr& t) { return scores_of(t, b); });
    te::Stmt weights = threads([&](const te::Expr& t) {
      auto own = [&](const te::Expr& i) { return weights_of(t, i); };
      return te::make_block({each(kRows, own), frame_.brought_v(kv_, t, b, by_row)});
    });
    te::Stmt share = threads([&](const te::Expr& t) { return shared_scores(t); });
    te::Stmt add = threads([&](const te::Expr& t) { return added(t); });
    return te::make_block(
        {std::move(keys), std::move(scores), std::move(weights), std::move(share), std::move(add)});
  }

  te::Stmt shared_scores(const te::Expr& t) {
    return each_pair(kOwnKeys, [&](const te::Expr& i, const te::Expr& j) {
      return te::make_store(p_, {row_of(t, i), column_of(t, j)}, score_(t, i, j));
    });
  }

  te::Stmt scores_of(const te::Expr& t, const te::Expr& b) {
    te::Stmt clear = each_pair(kOwnKeys, [&](const te::Expr& i, const te::Expr& j) {
      return te::make_store(score_, {t, i, j}, te::constant(DType::kF32, 0));
    });
    te::Stmt dots = te::loop("d", depth_, [&](const te::Expr& d) {
      return each_pair(kOwnKeys, [&](const te::Expr& i, const te::Expr& j) {
        return te::make_store(score_, {t, i, j},
                              score_(t, i, j) + q_(d, row_of(t, i)) * kv_(column_of(t, j), d));
      });
    });
    te::Stmt end = each_pair(kOwnKeys, [&](const te::Expr& i, const te::Expr& j) {
      return te::make_store(score_, {t, i, j},
                            frame_.score(row_of(t, i), b, column_of(t, j), score_(t, i, j)));
    });
    return te::make_block({std::move(clear), std::move(dots), std::move(end), shared_scores(t)});
  }

  // All threads of a row find its greatest score, in the same order.
  te::Stmt weights_of(const te::Expr& t, const te::Expr& i) {
    const te::Var before("before", DType::kF32), factor("factor", DType::kF32);
    te::Stmt greatest = te::loop("key", kSize.keys, [&](const te::Expr& key) {
      return te::make_store(top_, {t, i}, frame_.greater(top_(t, i), p_(row_of(t, i), key)));
    });
    te::Stmt scale = each(columns_ / kLanes, [&](const te::Expr& j) {
      return te::make_store(acc_, {t, i, j}, acc_(t, i, j) * te::Expr(factor));
    });
    te::Stmt weights = each(kOwnKeys, [&](const te::Expr& j) {
      return te::make_store(score_, {t, i, j}, exp_below(score_(t, i, j), top_(t, i)));
    });
    te::Stmt body = te::make_block({te::make_store(sum_, {t, i}, sum_(t, i) * te::Expr(factor)),
                                    std::move(scale), std::move(weights)});
    body = te::make_let(factor, exp_below(before, top_(t, i)), std::move(body));
    return te::make_let(before, top_(t, i), te::make_block({std::move(greatest), std::move(body)}));
  }

  te::Stmt added(const te::Expr& t) {
    return te::loop("key", kSize.keys, [&](const te::Expr& key) {
      return each(kRows, [&](const te::Expr& i) {
        const te::Var weight("weight", DType::kF32);
        te::Stmt sum = te::make_store(sum_, {t, i}, sum_(t, i) + te::Expr(weight));
        te::Stmt add = each(columns_ / kLanes, [&](const te::Expr& j) {
          return te::make_store(acc_, {t, i, j},
                                acc_(t, i, j) + te::Expr(weight) * kv_(key, column_of(t, j)));
        });
        return te::make_let(weight, p_(row_of(t, i), key),
                            te::make_block({std::move(sum), std::move(add)}));
      });
    });
  }

  te::Stmt end(const te::Expr& t) {
    return each_pair(columns_ / kLanes, [&](const te::Expr& i, const te::Expr& j) {
      return frame_.stored_at(row_of(t, i), column_of(t, j), acc_(t, i, j), sum_(t, i));
    });
  }

  const int64_t depth_, columns_;
  AttentionFrame frame_;
  Groups& groups_;
  te::Tensor q_, kv_, p_, acc_, score_, top_, sum_;
};

}  // namespace

te::Stmt fma_attention(const Job& job, const Attention& attention, Groups& groups) {
  return FmaAttention(job, attention, groups).kernel();
}

}  // namespace byoc::cuda
