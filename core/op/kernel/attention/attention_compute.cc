// SPDX-License-Identifier: Apache-2.0
// Attention to the first keys of a cache, as loops. The rows of a block are queries that read the
// same head of k and v. Keys are read in blocks, with a running maximum of the scores:
//   scores = scale q k^T;  top' = max(top, scores);  p = e^(scores - top')
//   sum = sum e^(top - top') + p;  acc = acc e^(top - top') + p v;  y = acc / sum
#include <bit>
#include <limits>

#include "core/op/kernel/attention/attention.h"
#include "core/op/kernel/index.h"

namespace byoc::op {
namespace {

using te::LoopKind;
using te::Stmt;

constexpr int64_t kKeys = 64;         // of a block
constexpr int64_t kLanes = 16;        // of partial sums
constexpr int64_t kMostTerms = 8;     // of one expression
constexpr int64_t kMostVectors = 16;  // of kLanes results, which stay in registers
constexpr int64_t kMostRows = 8;      // of a block
constexpr int64_t kKeysAtOnce = 4;    // whose values are added in one statement
constexpr double kNone = -std::numeric_limits<double>::infinity();

Expr exponential(const Expr& x) { return te::unary(te::UnaryOp::kExp, x); }

Stmt lanes(int64_t extent, const std::function<Stmt(Expr)>& body) {
  if (extent == 0) return {};
  return te::loop("lane", extent, body, LoopKind::kVectorized);
}

// Joins part[0], part[1], ... part[width - 1], a power of two, in part[0].
Stmt folded(const Tensor& part, int64_t width, const ExprFn2& join) {
  std::vector<Stmt> out;
  for (int64_t w = width / 2; w > 0; w /= 2)
    out.push_back(
        lanes(w, [&](Expr l) { return te::make_store(part, {l}, join(part(l), part(l + w))); }));
  return te::make_block(std::move(out));
}

// Returns term(0) + term(1) + ..., or another combination.
Expr joined(int64_t count, const ExprFn2& join, const std::function<Expr(int64_t)>& term) {
  Expr out = term(0);
  for (int64_t c = 1; c < count; ++c) out = join(out, term(c));
  return out;
}

// One block of rows of a head of k and v.
struct KeyRows {
  const CachedAttention& plan;
  Inputs in;
  Tensor y;
  int64_t count;  // of rows
  DType dtype;    // of scores and sums
  Tensor q, scores, acc, top, sum, part;
  Expr image, head, begin, length;  // begin: the first row
  Expr first, end;                  // of the keys that any of the rows may see

  KeyRows(const CachedAttention& own, Inputs inputs, Tensor result, int64_t rows, DType computing)
      : plan(own),
        in(inputs),
        y(std::move(result)),
        count(rows),
        dtype(computing),
        q("q", dtype, {Expr(rows), Expr(own.d)}),
        scores("scores", dtype, {Expr(rows), Expr(kKeys)}),
        acc("acc", dtype, {Expr(rows), Expr(own.e)}),
        top("top", dtype, {Expr(rows)}),
        sum("sum", dtype, {Expr(rows)}),
        part("part", dtype, {Expr(kLanes)}) {}

  Expr number(double value) const { return literal(dtype, value); }
  Expr query(const Expr& r) const { return floor_div(begin + r, plan.group()); }
  Expr query_head(const Expr& r) const {
    return head * plan.group() + floor_mod(begin + r, plan.group());
  }
  Expr operand(size_t k, int64_t size, const Expr& of_head, const Expr& position,
               const Expr& column) const {
    const Exprs at = row_place<Expr>(plan.has_packed[k], size, image, of_head, position, column);
    return te::cast(dtype, widened(in[k](at)));
  }
  Stmt each_row(const std::function<Stmt(Expr)>& body) const {
    return te::loop("row", count, body, LoopKind::kUnrolled);
  }

  // The visible keys of the query at `i` are [first, end).
  Expr first_of(const Expr& i) const {
    if (plan.left < 0) return 0;
    return te::max(Expr(0), i + length - (plan.s + plan.left));
  }
  Expr end_of(const Expr& i) const {
    const int64_t after = plan.is_causal ? 0 : plan.right;
    if (after < 0) return length;
    return te::min(length, i + length + (after + 1 - plan.s));
  }

  // Returns true where rows of a block may see different keys of [first, end).
  bool has_own_keys() const { return plan.s > 1 && plan.has_bounds(); }
  Expr sees(const Expr& r, const Expr& key) const {
    const Expr i = query(r);
    return first_of(i) <= key && key < end_of(i);
  }

  Stmt prepared() const {
    return each_row([&](Expr r) {
      Stmt load = lanes(plan.d, [&](Expr c) {
        Expr x = operand(0, plan.d, query_head(r), query(r), c);
        return te::make_store(q, {r, c}, x * number(plan.scale));
      });
      Stmt clear = lanes(plan.e, [&](Expr c) { return te::make_store(acc, {r, c}, zero(dtype)); });
      return te::make_block({load, clear, te::make_store(top, {r}, number(kNone)),
                             te::make_store(sum, {r}, zero(dtype))});
    });
  }
  Stmt dot(const Expr& r, const Expr& key) const;
  Expr masked(Expr score, const Expr& r, const Expr& key) const;
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
Expr KeyRows::masked(Expr score, const Expr& r, const Expr& key) const {
  if (plan.softcap > 0)
    score = te::unary(te::UnaryOp::kTanh, score / number(plan.softcap)) * number(plan.softcap);
  if (in.size() > 4) {
    const Expr mask = in[4](broadcast_index(in[4], {image, query_head(r), query(r), key}));
    if (mask.dtype() == DType::kBool) score = te::select(mask, score, number(kNone));
    else score = score + te::cast(dtype, widened(mask));
  }
  if (!has_own_keys()) return score;
  return te::select(sees(r, key), score, number(kNone));
}

// Writes the scores of the keys [base, base + keys); others of the block are minus infinity.
Stmt KeyRows::scored(const Expr& base, const Expr& keys) const {
  Stmt clear = each_row([&](Expr r) {
    return lanes(kKeys, [&](Expr l) { return te::make_store(scores, {r, l}, number(kNone)); });
  });
  Stmt write = te::loop("key", keys, [&](Expr k) {
    return each_row([&](Expr r) {
      return te::make_block(
          {dot(r, base + k), te::make_store(scores, {r, k}, masked(part(0), r, base + k))});
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
      const Exprs at =
          row_place<Expr>(plan.has_packed[0], plan.e, image, query_head(r), query(r), c);
      Expr mean = te::select(sum(r) == zero(dtype), zero(dtype), acc(r, c) / sum(r));
      return te::make_store(y, at, converted_to(y.dtype(), mean));
    });
    return te::make_if(first_row <= begin + r, store);
  });
}

Stmt block_of_rows(KeyRows& rows, const Expr& first_row, const Expr& length) {
  te::Var own_length("length"), begin("begin"), first("first"), end("end");
  const int64_t all = rows.plan.s * rows.plan.group();
  rows.length = own_length, rows.begin = begin, rows.first = first, rows.end = end;
  Stmt keys = te::loop("block", floor_div(Expr(end) - first + (kKeys - 1), kKeys),
                       [&](Expr block) { return rows.of_block(block); });
  Stmt out = te::make_block({rows.prepared(), keys, rows.stored(first_row)});
  for (const Tensor& tensor : {rows.part, rows.sum, rows.top, rows.acc, rows.scores, rows.q})
    out = te::make_alloc(tensor, te::Scope::kStack, out);
  out = te::make_let(end, rows.end_of(rows.query(rows.count - 1)), out);
  out = te::make_let(first, rows.first_of(rows.query(0)), out);
  out = te::make_let(begin, te::min(first_row, Expr(all - rows.count)), out);
  return te::make_let(own_length, length, out);
}

// Returns the rows of a block: their results stay in registers.
int64_t rows_at_once(const CachedAttention& plan) {
  const int64_t vectors = std::max<int64_t>((plan.e + kLanes - 1) / kLanes, 1);
  const int64_t most = std::clamp<int64_t>(kMostVectors / vectors, 1, kMostRows);
  return std::min(most, plan.s * plan.group());
}

}  // namespace

Result<Tensors> cached_attention_loops(te::Builder& builder, const CachedAttention& plan,
                                       std::string_view of, Inputs in, TypeId out) {
  const CheckedIndices lengths(builder, of, in[3], {lengths_up_to(plan.t)});
  Tensors read(in.begin(), in.end());
  for (const Tensor& tensor : lengths.inputs()) read.push_back(tensor);
  DType dtype = DType::kF32;
  for (const Tensor& tensor : in) {
    if (tensor.dtype() == DType::kF64) dtype = DType::kF64;
  }
  return builder.procedure("cached_attention", {*out}, read, [&](const Tensors& y) {
    if (plan.s == 0 || plan.e == 0) return Stmt();
    const int64_t count = rows_at_once(plan), all = plan.s * plan.group(),
                  blocks = (all + count - 1) / count;
    KeyRows rows(plan, in, y[0], count, dtype);
    auto body = [&](const Expr& unit) {
      rows.image = floor_div(unit, plan.kv_heads * blocks);
      rows.head = floor_mod(floor_div(unit, blocks), plan.kv_heads);
      return block_of_rows(rows, floor_mod(unit, blocks) * count, lengths({rows.image}));
    };
    const Expr units = te::simplify(in[0].shape()[0] * (plan.kv_heads * blocks));
    return te::loop("unit", units, body, LoopKind::kParallel);
  });
}

}  // namespace byoc::op
