// SPDX-License-Identifier: Apache-2.0
// Many rows of queries, as in a prompt: each has a lane, so that an element of a key or of a value
// is read where it is in the cache and multiplied with a vector of rows:
//   scores[key][lane] += k[key][c] q[c][lane];  acc[c][lane] += v[key][c] p[key][lane]
// Tiles of sums, keys or columns of values by kLanes, stay in registers. Maxima and sums are taken
// lane by lane.
#include "core/op/kernel/attention/rows.h"

namespace byoc::op::attention {
namespace {

constexpr int64_t kMostTile = 8;  // keys, or columns of values, of a tile
static_assert(kKeys % kMostTile == 0);

// Returns the sums of a tile that fit beside a vector of rows and an element.
int64_t tile_of(int64_t registers) {
  int64_t out = kMostTile;
  while (out > 1 && out + 2 > registers) out /= 2;
  return out;
}

using TileFn = std::function<Stmt(Expr, Expr)>;  // of a sum of a tile and a lane

struct LaneRows : Rows {
  int64_t tile_size;
  Tensor q, scores, acc, top, base, factor, sum, low, high, tile;

  explicit LaneRows(const Rows& rows)
      : Rows(rows),
        tile_size(tile_of(rows.registers)),
        q("q", dtype, {Expr(plan.d), Expr(kLanes)}),
        scores("scores", dtype, {Expr(kKeys), Expr(kLanes)}),
        acc("acc", dtype, {Expr(plan.e), Expr(kLanes)}),
        top(vector("top", dtype)),
        base(vector("base", dtype)),
        factor(vector("factor", dtype)),
        sum(vector("sum", dtype)),
        low(vector("low", DType::kI64)),
        high(vector("high", DType::kI64)),
        tile("tile", dtype, {Expr(tile_size), Expr(kLanes)}) {}

  std::vector<Tensor> memory() const {
    return {tile, high, low, sum, factor, base, top, acc, scores, q};
  }
  Stmt block() const;

 private:
  static Tensor vector(const char* name, DType type) { return {name, type, {Expr(kLanes)}}; }
  // Lanes after the last row repeat it, and are not stored.
  Expr row(const Expr& lane) const { return te::min(begin + lane, all() - 1); }
  Stmt prepared() const;
  Stmt summed(int64_t count, const Expr& terms,
              const std::function<Expr(Expr, Expr, Expr)>& product, const TileFn& begun) const;
  Expr shared(const Expr& from, const Expr& keys) const;
  Stmt scored(const Expr& from, const Expr& keys, const Expr& shared) const;
  Stmt normalised(const Expr& tiles) const;
  Stmt added(const Expr& from, const Expr& first_key, const Expr& keys, bool is_shared) const;
  Stmt keys_from(const Expr& from) const;
  Stmt stored() const;
};

Stmt each(int64_t count, const std::function<Stmt(Expr)>& body) {
  return te::loop("u", count, body, LoopKind::kUnrolled);
}

Stmt LaneRows::prepared() const {
  Stmt load = te::loop("row", kLanes, [&](Expr l) {
    te::Var own("own");
    Stmt copy = te::loop("c", plan.d, [&](Expr c) {
      Expr x = operand(0, plan.d, query_head(own), query(own), c);
      return te::make_store(q, {c, l}, x * number(plan.scale));
    });
    Stmt bounds = has_own_keys() ? te::make_block({te::make_store(low, {l}, first_of(query(own))),
                                                   te::make_store(high, {l}, end_of(query(own)))})
                                 : Stmt();
    return te::make_let(own, row(l), te::make_block({copy, bounds}));
  });
  Stmt clear = te::loop("c", plan.e, [&](Expr c) {
    return lanes(kLanes, [&](Expr l) { return te::make_store(acc, {c, l}, zero(dtype)); });
  });
  Stmt none = lanes(kLanes, [&](Expr l) { return te::make_store(top, {l}, number(kNone)); });
  Stmt empty = lanes(kLanes, [&](Expr l) { return te::make_store(sum, {l}, zero(dtype)); });
  return te::make_block({load, clear, none, empty});
}

Stmt all_of(int64_t count, const TileFn& body) {
  return each(count, [&](Expr u) { return lanes(kLanes, [&](Expr l) { return body(u, l); }); });
}

// Makes a tile of `count` sums over `terms`, which begin as begun(u, lane).
Stmt LaneRows::summed(int64_t count, const Expr& terms,
                      const std::function<Expr(Expr, Expr, Expr)>& product,
                      const TileFn& begun) const {
  Stmt sums = te::loop("term", terms, [&](Expr term) {
    return all_of(count, [&](Expr u, Expr l) {
      return te::make_store(tile, {u, l}, tile(u, l) + product(u, term, l));
    });
  });
  return te::make_block({all_of(count, begun), sums});
}

// Returns how many keys from `from` on all rows see.
Expr LaneRows::shared(const Expr& from, const Expr& keys) const {
  if (!has_own_keys()) return keys;
  const Expr count = te::max(Expr(0), te::min(keys, end_of(query(begin)) - from));
  return te::select(first_of(query(row(kLanes - 1))) <= from, count, Expr(0));
}

// Writes the scores of whole tiles of the keys from `from` on. Those of keys that are not there are
// minus infinity. Tiles of shared keys need no comparison, which is one of 64 bits a lane.
Stmt LaneRows::scored(const Expr& from, const Expr& keys, const Expr& shared) const {
  return te::loop("tile", floor_div(keys + (tile_size - 1), tile_size), [&](Expr t) {
    auto key = [&](const Expr& u) { return from + t * tile_size + u; };
    auto product = [&](const Expr& u, const Expr& c, const Expr& l) {
      return operand(1, plan.d, head, te::min(key(u), end - 1), c) * q(c, l);
    };
    auto begun = [&](const Expr& u, const Expr& l) {
      return te::make_store(tile, {u, l}, zero(dtype));
    };
    auto score_of = [&](const Expr& u, const Expr& l) {
      return masked(tile(u, l), row(l), te::min(key(u), end - 1));
    };
    auto all_seen = [&](const Expr& u, const Expr& l) {
      return te::make_store(scores, {t * tile_size + u, l}, score_of(u, l));
    };
    auto some_seen = [&](const Expr& u, const Expr& l) {
      Expr is_seen = key(u) < end;
      if (has_own_keys()) is_seen = low(l) <= key(u) && key(u) < te::min(high(l), end);
      return te::make_store(scores, {t * tile_size + u, l},
                            te::select(is_seen, score_of(u, l), number(kNone)));
    };
    return te::make_block({summed(tile_size, Expr(plan.d), product, begun),
                           te::make_if(t * tile_size + tile_size <= shared,
                                       all_of(tile_size, all_seen), all_of(tile_size, some_seen))});
  });
}

// Makes probabilities of the scores, by the new maximum; `factor` scales sums and results so far.
Stmt LaneRows::normalised(const Expr& tiles) const {
  auto set = [&](const Tensor& to, const std::function<Expr(Expr)>& value) {
    return lanes(kLanes, [&](Expr l) { return te::make_store(to, {l}, value(l)); });
  };
  auto folded = [&](const Tensor& to, const ExprFn2& join) {
    return te::loop("tile", tiles, [&](Expr t) {
      return set(to, [&](const Expr& l) {
        return join(to(l), joined(tile_size, join,
                                  [&](int64_t u) { return scores(t * tile_size + u, l); }));
      });
    });
  };
  // A row that sees no key so far has probabilities of 0.
  auto base_of = [&](const Expr& l) {
    return te::select(base(l) == number(kNone), zero(dtype), base(l));
  };
  Stmt powers = te::loop("key", tiles * tile_size, [&](Expr key) {
    return lanes(kLanes, [&](Expr l) {
      return te::make_store(scores, {key, l}, exponential(scores(key, l) - factor(l)));
    });
  });
  return te::make_block(
      {set(base, [&](const Expr& l) { return top(l); }), folded(base, applied(te::BinaryOp::kMax)),
       set(factor, base_of), powers,
       set(factor, [&](const Expr& l) { return exponential(top(l) - factor(l)); }),
       set(top, [&](const Expr& l) { return base(l); }),
       set(sum, [&](const Expr& l) { return sum(l) * factor(l); }),
       folded(sum, applied(te::BinaryOp::kAdd))});
}

// Adds the values of `keys` keys, the first of which is from + first_key, to results so far, which
// shared keys scale. A value that a row does not see is 0, since 0 times infinity is NaN.
Stmt LaneRows::added(const Expr& from, const Expr& first_key, const Expr& keys,
                     bool is_shared) const {
  auto columns = [&](const Expr& first_column, int64_t count) {
    auto product = [&](const Expr& u, const Expr& k, const Expr& l) {
      const Expr key = first_key + k, place = from + key;
      Expr value = operand(2, plan.e, head, place, first_column + u);
      if (!is_shared) value = te::select(low(l) <= place && place < high(l), value, zero(dtype));
      return value * scores(key, l);
    };
    auto begun = [&](const Expr& u, const Expr& l) {
      const Expr so_far = acc(first_column + u, l);
      return te::make_store(tile, {u, l}, is_shared ? so_far * factor(l) : so_far);
    };
    auto ended = [&](const Expr& u, const Expr& l) {
      return te::make_store(acc, {first_column + u, l}, tile(u, l));
    };
    return te::make_block({summed(count, keys, product, begun), all_of(count, ended)});
  };
  const int64_t whole = plan.e / tile_size, rest = plan.e % tile_size;
  Stmt tiles =
      te::loop("columns", whole, [&](Expr t) { return columns(t * tile_size, tile_size); });
  return te::make_block({tiles, rest == 0 ? Stmt() : columns(Expr(whole * tile_size), rest)});
}

Stmt LaneRows::keys_from(const Expr& from) const {
  te::Var count("keys"), tiles("tiles"), shared_count("shared");
  const Expr keys = count, both = shared_count;
  Stmt own;
  if (has_own_keys()) own = te::make_if(both < keys, added(from, both, keys - both, false));
  Stmt out = te::make_block(
      {scored(from, keys, both), normalised(tiles), added(from, Expr(0), both, true), own});
  out = te::make_let(tiles, floor_div(keys + (tile_size - 1), tile_size), out);
  out = te::make_let(shared_count, shared(from, keys), out);
  return te::make_let(count, te::min(Expr(kKeys), end - from), out);
}

// A row that sees no key is 0.
Stmt LaneRows::stored() const {
  return te::loop("row", te::min(Expr(kLanes), all() - begin), [&](Expr l) {
    return te::loop("c", plan.e, [&](Expr c) {
      Expr mean = te::select(sum(l) == zero(dtype), zero(dtype), acc(c, l) / sum(l));
      return te::make_store(y, place(begin + l, c), converted_to(y.dtype(), mean));
    });
  });
}

Stmt LaneRows::block() const {
  Stmt keys = te::loop("block", floor_div(end - first + (kKeys - 1), kKeys), [&](Expr block) {
    te::Var from("from");
    return te::make_let(from, first + block * kKeys, keys_from(from));
  });
  return te::make_block({prepared(), keys, stored()});
}

}  // namespace

Stmt block_of_many_rows(Rows of, const Expr& first_row, const Expr& length) {
  LaneRows rows(of);
  return rows.with_bounds(length, first_row, te::min(first_row + (kLanes - 1), rows.all() - 1),
                          [&] {
                            Stmt out = rows.block();
                            for (const Tensor& tensor : rows.memory())
                              out = te::make_alloc(tensor, te::Scope::kStack, out);
                            return out;
                          });
}

}  // namespace byoc::op::attention
