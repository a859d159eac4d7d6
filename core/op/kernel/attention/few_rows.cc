// SPDX-License-Identifier: Apache-2.0
// A few rows of queries, as in a step of one token: keys and values are read once for all of them,
// a vector of a head's numbers at a time, and the results stay in registers.
#include <bit>

#include "core/op/kernel/attention/rows.h"

namespace byoc::op::attention {
namespace {

constexpr int64_t kMostTerms = 8;     // of one expression
constexpr int64_t kMostVectors = 16;  // of kLanes results, which stay in registers
constexpr int64_t kMostRows = 8;      // of a block
constexpr int64_t kKeysAtOnce = 4;    // whose values are added in one statement

// Joins part[0], part[1], ... part[width - 1], a power of two, in part[0].
Stmt folded(const Tensor& part, int64_t width, const ExprFn2& join) {
  std::vector<Stmt> out;
  for (int64_t w = width / 2; w > 0; w /= 2)
    out.push_back(
        lanes(w, [&](Expr l) { return te::make_store(part, {l}, join(part(l), part(l + w))); }));
  return te::make_block(std::move(out));
}

struct KeyRows : Rows {
  int64_t count;  // of rows
  Tensor q, scores, acc, top, sum, part;

  KeyRows(const Rows& rows, int64_t of_rows)
      : Rows(rows),
        count(of_rows),
        q("q", dtype, {Expr(of_rows), Expr(plan.d)}),
        scores("scores", dtype, {Expr(of_rows), Expr(kKeys)}),
        acc("acc", dtype, {Expr(of_rows), Expr(plan.e)}),
        top("top", dtype, {Expr(of_rows)}),
        sum("sum", dtype, {Expr(of_rows)}),
        part("part", dtype, {Expr(kLanes)}) {}

  Stmt each_row(const std::function<Stmt(Expr)>& body) const {
    return te::loop("row", count, body, LoopKind::kUnrolled);
  }
  Expr sees(const Expr& r, const Expr& key) const {
    const Expr i = query(begin + r);
    return first_of(i) <= key && key < end_of(i);
  }

  Stmt prepared() const {
    return each_row([&](Expr r) {
      Stmt load = lanes(plan.d, [&](Expr c) {
        Expr x = operand(0, plan.d, query_head(begin + r), query(begin + r), c);
        return te::make_store(q, {r, c}, x * number(plan.scale));
      });
      Stmt clear = lanes(plan.e, [&](Expr c) { return te::make_store(acc, {r, c}, zero(dtype)); });
      return te::make_block({load, clear, te::make_store(top, {r}, number(kNone)),
                             te::make_store(sum, {r}, zero(dtype))});
    });
  }
  Stmt dot(const Expr& r, const Expr& key) const;
  Expr visible(Expr score, const Expr& r, const Expr& key) const;
  Stmt scored(const Expr& base, const Expr& keys) const;
  Stmt folded_scores(const Expr& r, const ExprFn2& join) const;
  Stmt normalised() const;
  Stmt added(const Expr& base, const Expr& first_key, int64_t keys) const;
  Stmt of_block(const Expr& block) const;
  Stmt stored(const Expr& first_row) const;
};

// Writes the product of row r of q and a key to part[0], by partial sums of kLanes terms.
Stmt KeyRows::dot(const Expr& r, const Expr& key) const {
  const auto width = std::min<int64_t>(
      kLanes, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(plan.d))));
  const int64_t vectors = plan.d / width, rest = plan.d % width;
  auto product = [&](const Expr& c) { return q(r, c) * operand(1, plan.d, head, key, c); };
  auto terms = [&](const Expr& from, int64_t n, bool is_first) {
    return lanes(width, [&](Expr l) {
      Expr all = joined(n, applied(te::BinaryOp::kAdd),
                        [&](int64_t c) { return product(from + (c * width + l)); });
      return te::make_store(part, {l}, is_first ? all : part(l) + all);
    });
  };
  const int64_t head_terms = vectors % kMostTerms == 0 ? kMostTerms : vectors % kMostTerms;
  std::vector<Stmt> out = {terms(0, head_terms, true)};
  out.push_back(te::loop("terms", (vectors - head_terms) / kMostTerms, [&](Expr c) {
    return terms((c * kMostTerms + head_terms) * width, kMostTerms, false);
  }));
  out.push_back(lanes(rest, [&](Expr l) {
    return te::make_store(part, {l}, part(l) + product(vectors * width + l));
  }));
  out.push_back(folded(part, width, applied(te::BinaryOp::kAdd)));
  return te::make_block(std::move(out));
}

// Returns the score with the cap, the mask and the bounds of the query.
Expr KeyRows::visible(Expr score, const Expr& r, const Expr& key) const {
  score = masked(score, begin + r, key);
  return has_own_keys() ? te::select(sees(r, key), score, number(kNone)) : score;
}

// Writes the scores of the keys [base, base + keys); others of the block are minus infinity.
Stmt KeyRows::scored(const Expr& base, const Expr& keys) const {
  Stmt clear = each_row([&](Expr r) {
    return lanes(kKeys, [&](Expr l) { return te::make_store(scores, {r, l}, number(kNone)); });
  });
  Stmt write = te::loop("key", keys, [&](Expr k) {
    return each_row([&](Expr r) {
      return te::make_block(
          {dot(r, base + k), te::make_store(scores, {r, k}, visible(part(0), r, base + k))});
    });
  });
  return te::make_block({clear, write});
}

Stmt KeyRows::folded_scores(const Expr& r, const ExprFn2& join) const {
  Stmt vectors = lanes(kLanes, [&](Expr l) {
    Expr all =
        joined(kKeys / kLanes, join, [&](int64_t c) { return scores(r, Expr(c * kLanes) + l); });
    return te::make_store(part, {l}, all);
  });
  return te::make_block({vectors, folded(part, kLanes, join)});
}

// Makes probabilities of the scores, by the new maximum; sums and results so far are scaled to it.
Stmt KeyRows::normalised() const {
  return each_row([&](Expr r) {
    te::Var most("most", dtype), base("base", dtype), factor("factor", dtype);
    Stmt powers = lanes(kKeys, [&](Expr l) {
      return te::make_store(scores, {r, l}, exponential(scores(r, l) - Expr(base)));
    });
    Stmt scale = lanes(plan.e, [&](Expr c) {
      return te::make_store(acc, {r, c}, acc(r, c) * Expr(factor));
    });
    Stmt all = te::make_block({powers, folded_scores(r, applied(te::BinaryOp::kAdd)),
                               te::make_store(sum, {r}, sum(r) * Expr(factor) + part(0)), scale,
                               te::make_store(top, {r}, most)});
    all = te::make_let(factor, exponential(top(r) - Expr(base)), all);
    // A row that sees no key so far has probabilities of 0.
    Expr is_none = Expr(most) == number(kNone);
    all = te::make_let(base, te::select(is_none, zero(dtype), most), all);
    all = te::make_let(most, te::max(part(0), top(r)), all);
    return te::make_block({folded_scores(r, applied(te::BinaryOp::kMax)), all});
  });
}

// Adds the values of some keys of the block, from first_key on.
Stmt KeyRows::added(const Expr& base, const Expr& first_key, int64_t keys) const {
  return each_row([&](Expr r) {
    return lanes(plan.e, [&](Expr c) {
      Expr total = acc(r, c);
      for (int64_t k = 0; k < keys; ++k) {
        const Expr key = base + first_key + k;
        Expr value = operand(2, plan.e, head, key, c);
        if (has_own_keys()) value = te::select(sees(r, key), value, zero(dtype));
        total = total + scores(r, first_key + k) * value;
      }
      return te::make_store(acc, {r, c}, total);
    });
  });
}

Stmt KeyRows::of_block(const Expr& block) const {
  te::Var base("base"), keys("keys");
  Stmt fours = te::loop("keys", floor_div(keys, kKeysAtOnce),
                        [&](Expr k) { return added(base, k * kKeysAtOnce, kKeysAtOnce); });
  te::Var one("key");
  const Expr whole = floor_div(keys, kKeysAtOnce) * kKeysAtOnce;
  Stmt rest = te::make_for(one, whole, keys - whole, LoopKind::kSerial, added(base, one, 1));
  Stmt all = te::make_block({scored(base, keys), normalised(), fours, rest});
  all = te::make_let(keys, te::min(Expr(kKeys), end - base), all);
  return te::make_let(base, first + block * kKeys, all);
}

// Rows before first_row belong to another block, too, which stores them.
// A row that sees no key is 0.
Stmt KeyRows::stored(const Expr& first_row) const {
  return each_row([&](Expr r) {
    Stmt store = lanes(plan.e, [&](Expr c) {
      Expr mean = te::select(sum(r) == zero(dtype), zero(dtype), acc(r, c) / sum(r));
      return te::make_store(y, place(begin + r, c), converted_to(y.dtype(), mean));
    });
    return te::make_if(first_row <= begin + r, store);
  });
}

}  // namespace

int64_t few_rows(const CachedAttention& plan, int64_t all) {
  const int64_t vectors = std::max<int64_t>((plan.e + kLanes - 1) / kLanes, 1);
  const int64_t most = std::clamp<int64_t>(kMostVectors / vectors, 1, kMostRows);
  return std::min(most, all);
}

Stmt block_of_few_rows(Rows of, int64_t count, const Expr& first_row, const Expr& length) {
  KeyRows rows(of, count);
  auto body = [&] {
    Stmt keys = te::loop("block", floor_div(rows.end - rows.first + (kKeys - 1), kKeys),
                         [&](Expr block) { return rows.of_block(block); });
    Stmt out = te::make_block({rows.prepared(), keys, rows.stored(first_row)});
    for (const Tensor& tensor : {rows.part, rows.sum, rows.top, rows.acc, rows.scores, rows.q})
      out = te::make_alloc(tensor, te::Scope::kStack, out);
    return out;
  };
  return rows.with_bounds(length, te::min(first_row, rows.all() - count),
                          te::min(first_row, rows.all() - count) + (count - 1), body);
}

}  // namespace byoc::op::attention
