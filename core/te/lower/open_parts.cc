// SPDX-License-Identifier: Apache-2.0
// Splits of extents that a run gives. Iterations of the whole factor come first, then the rest, as
// one loop of an open extent or as blocks of 2^k iterations, so that tiles have constant extents:
//   for o in 0..T / 16 { for i in 0..16 { .. } }
//   if 8 <= T % 16 { for i in 0..8 { .. } }
//   if 4 <= T % 8 { .. }                          of the rest, T % 16
// Fewer than 8 rows of a tile are one: if T % 8 == 7 { .. } else if T % 8 == 6 { .. }
// The last rows of tiles of up to 16 are one tile, or two of as many rows, whatever their number:
//   for part in 0..parts { if rows == 1 { .. } else if rows == 2 { .. } .. }
// Lanes that are no tile are one vector, some of whose lanes have a condition.
#include <algorithm>
#include <map>

#include "byoc/te/rewrite.h"
#include "core/te/lower/nest.h"

namespace byoc::te {
namespace {

constexpr int64_t kMostOfBlocks = 64;  // a rest of more iterations is one loop
constexpr int64_t kExact = 8;          // fewer rows are one tile
constexpr int64_t kBalanced = 16;  // the last rows of tiles of no more are as good as the others
constexpr int64_t kLanes = 32;     // of a vectorized loop of an open extent

Expr at_least(const Expr& x, const Expr& least) { return least <= x; }

}  // namespace

void Nest::split_open_extent(Frame& frame, size_t relation) const {
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  if (simplify_.bounds(whole).hi <= r.factor && !is_tile(relation)) {
    frame.extents[r.outer] = 1;
    return settle(frame, relation, whole);
  }
  frame.extents[r.outer] = simplify_(floor_div(whole + (r.factor - 1), r.factor));
  if (as_int(simplify_(floor_mod(whole, r.factor))) == 0) return settle(frame, relation, r.factor);
  if (!parts_[relation]) frame.extents[r.inner] = r.factor;
}

bool Nest::has_open_parts(const Frame& frame, size_t relation) const {
  return parts_[relation] && is_open(frame, relation) &&
         is_of_sizes(frame.extents[state_.relations[relation].whole]);
}

// Returns true for an inner loop that is no tile: it is divided further, long, or only a vector.
bool Nest::has_one_rest(const Relation& relation) const {
  const auto is_divided = std::ranges::any_of(state_.relations, [&](const Relation& other) {
    return other.is_split && other.whole == relation.inner;
  });
  return is_divided || relation.factor > kMostOfBlocks || is_plain_vector(relation);
}

// Returns true for an inner loop that is written out, or before which others are computed.
bool Nest::is_tile(size_t relation) const {
  const Relation& r = state_.relations[relation];
  return parts_[relation] && !has_one_rest(r) &&
         (state_.iters[r.inner].kind == LoopKind::kUnrolled || hosts_at_(r.outer));
}

// Returns true for lanes of a vector for which no other stage is computed.
bool Nest::is_plain_vector(const Relation& relation) const {
  const std::optional<size_t> outer = position_of(state_, relation.outer);
  if (!outer || state_.leaves.back() != relation.inner ||
      state_.iters[relation.inner].kind != LoopKind::kVectorized)
    return false;
  return std::none_of(state_.leaves.begin() + static_cast<ptrdiff_t>(*outer), state_.leaves.end(),
                      hosts_at_);
}

// Settles a split whose inner loop begins at `first`, and puts what is inside.
Stmt Nest::open_block(Frame frame, size_t relation, const Expr& first, const Expr& count,
                      const Put& put) const {
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  const Var base("base");
  simplify_.set(base, {0, std::max<int64_t>(simplify_.bounds(whole).hi - 1, 1)});
  simplify_.assume(whole - count - base);
  simplify_.define(base, first);
  settle(frame, relation, count);
  find_extents(frame);
  frame.bases[relation] = base;
  find_values(frame);
  return make_let(base, simplify_(first), put(std::move(frame)));
}

Stmt Nest::open_rest(const Frame& frame, size_t relation, const Put& put) const {
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  const Expr rest = simplify_(floor_mod(whole, r.factor));
  const Expr begin = floor_div(whole, r.factor) * r.factor;
  if (has_one_rest(r)) {
    Stmt last = open_block(frame, relation, begin, rest, put);
    return make_if(simplify_(at_least(rest, 1)), std::move(last));
  }
  const bool is_exact = is_tile(relation) && state_.iters[r.inner].kind != LoopKind::kVectorized;
  int64_t block = 1;
  while (2 * block < r.factor) block *= 2;
  std::vector<Stmt> out;
  for (; block >= (is_exact ? kExact : 1); block /= 2) {
    const Expr before = floor_div(rest, 2 * block) * (2 * block);
    const Expr holds = simplify_(at_least(floor_mod(rest, 2 * block), block));
    if (as_int(holds) == 0) continue;
    out.push_back(make_if(holds, open_block(frame, relation, begin + before, block, put)));
  }
  if (is_exact) out.push_back(open_rows(frame, relation, rest, put));
  return make_block(std::move(out));
}

// Puts the last rows of a tile as one: two tiles of few rows read their columns twice, and take as
// long as one of more rows.
Stmt Nest::open_rows(const Frame& frame, size_t relation, const Expr& rest, const Put& put) const {
  const Relation& r = state_.relations[relation];
  const Expr begin = floor_div(frame.extents[r.whole], r.factor) * r.factor;
  const Expr first = begin + floor_div(rest, kExact) * kExact;
  const Expr rows = floor_mod(rest, kExact);
  Stmt out;
  for (int64_t count = 1; count < std::min(kExact, r.factor); ++count) {
    const Expr holds = simplify_(rows == Expr(count));
    if (as_int(holds) == 0) continue;
    out = make_if(holds, open_block(frame, relation, first, count, put), std::move(out));
  }
  return out;
}

// Returns true for tiles of rows that end with tiles of about as many.
bool Nest::has_balanced_parts(size_t relation) const {
  const Relation& r = state_.relations[relation];
  return is_tile(relation) && state_.iters[r.inner].kind != LoopKind::kVectorized &&
         r.factor >= kExact && r.factor <= kBalanced;
}

// Puts the loop over whole tiles and the last rows: one tile of all that are left, or two of half
// of them each. A whole tile and one of few rows would take as long as two whole ones, and only the
// one of few rows would fetch the next panel.
Stmt Nest::balanced_parts(size_t position, const Frame& frame, size_t relation) {
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  const Expr tiles = floor_div(whole + (r.factor - 1), r.factor);
  const Expr more = min(floor_mod(whole, r.factor), 1) * min(floor_div(whole - 1, r.factor), 1);
  const Expr full = simplify_(tiles - 1 - more), parts = simplify_(more + 1);
  Frame most = frame;
  settle(most, relation, r.factor);
  find_extents(most);
  Stmt tiled = range(position, std::move(most), 0, full);
  const Expr last = whole - full * r.factor, half = last - floor_div(last, 2) * more;
  const Var part("part"), rows("rows");
  simplify_.set(part, {0, 1});
  simplify_.set(rows, {0, r.factor});
  const Expr first = full * r.factor + Expr(part) * half;
  Stmt choice;
  for (int64_t count = r.factor; count >= 1; --count) {
    Stmt block = open_block(frame, relation, first, count, [&](Frame one) {
      return range(position, std::move(one), full + part, 1);
    });
    choice = make_if(Expr(rows) == Expr(count), std::move(block), std::move(choice));
  }
  const Expr own = simplify_(half + Expr(part) * (last - half * 2));
  Stmt ending = make_for(part, 0, parts, LoopKind::kSerial, make_let(rows, own, std::move(choice)));
  if (simplify_.bounds(whole).lo < 1) ending = make_if(simplify_(at_least(whole, 1)), ending);
  return make_block({std::move(tiled), std::move(ending)});
}

// Puts the loop over whole iterations, and what is left.
Stmt Nest::open_parts(size_t position, const Frame& frame, size_t relation) {
  if (has_balanced_parts(relation)) return balanced_parts(position, frame, relation);
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  const Expr count = simplify_(floor_div(whole, r.factor));
  Frame most = frame;
  settle(most, relation, r.factor);
  find_extents(most);
  Stmt first = range(position, std::move(most), 0, count);
  Stmt last = open_rest(frame, relation,
                        [&](Frame one) { return range(position, std::move(one), count, 1); });
  return make_block({std::move(first), std::move(last)});
}

// Puts what is inside of a loop once for each case of the open splits whose outer value it gives.
Stmt Nest::by_case(Frame frame, const Put& put) const {
  find_values(frame);
  for (size_t k = 0; k < state_.relations.size(); ++k) {
    const Relation& r = state_.relations[k];
    const Expr outer = frame.values[r.outer];
    if (outer.is_empty() || !has_open_parts(frame, k)) continue;
    const Expr count = floor_div(frame.extents[r.whole], r.factor);
    frame.is_conditional = true;
    const Put next = [&](Frame one) { return by_case(std::move(one), put); };
    Stmt most = open_block(frame, k, outer * r.factor, r.factor, next);
    return make_if(simplify_(outer < count), std::move(most), open_rest(frame, k, next));
  }
  return put(std::move(frame));
}

// Divides a vectorized loop of an open extent, inside of which there are no loops: whole vectors,
// then one of which some lanes have a condition.
Stmt Nest::open_vectors(size_t position, const Frame& frame, const Expr& count) {
  const uint32_t iter = state_.leaves[position];
  std::vector<Stmt> out;
  auto lanes_at = [&](const Expr& first, int64_t lanes, bool is_last) {
    const Var lane(state_.iters[iter].name);
    simplify_.set(lane, {0, lanes - 1});
    if (is_last) simplify_.assume(count - 1 - first - Expr(lane));
    Frame inner = frame;
    inner.values[iter] = simplify_(first + lane);
    Stmt body = inside(position, std::move(inner));
    const LoopKind kind = has_condition(body) ? LoopKind::kSerial : LoopKind::kVectorized;
    if (!is_last) return make_for(lane, 0, lanes, kind, std::move(body));
    const Var rest("rest");  // by name, as the condition follows from what is assumed inside of it
    simplify_.set(rest, {0, lanes});
    body = make_if(Expr(lane) < Expr(rest), std::move(body));
    return make_let(rest, simplify_(floor_mod(count, lanes)),
                    make_for(lane, 0, lanes, kind, std::move(body)));
  };
  const int64_t most = simplify_.bounds(count).hi;
  const Var outer(state_.iters[iter].name + ".o");
  simplify_.set(outer, {0, std::max<int64_t>(most / kLanes - 1, 1)});
  simplify_.assume(count - kLanes - Expr(outer) * kLanes);
  if (most >= kLanes)
    out.push_back(make_for(outer, 0, simplify_(floor_div(count, kLanes)), LoopKind::kSerial,
                           lanes_at(Expr(outer) * kLanes, kLanes, false)));
  auto add_rest = [&](const Expr& holds, int64_t lanes, bool is_last) {
    if (as_int(holds) == 0) return;
    const Var base("base");
    simplify_.set(base, {0, std::max<int64_t>(most - 1, 1)});
    simplify_.assume(count - (is_last ? 1 : lanes) - base);
    const int64_t before = is_last ? lanes : 2 * lanes;
    Stmt one = make_let(base, simplify_(floor_div(count, before) * before),
                        lanes_at(base, lanes, is_last));
    out.push_back(as_int(holds) == 1 ? std::move(one) : make_if(holds, std::move(one)));
  };
  constexpr int64_t kLast = kLanes / 2;
  add_rest(simplify_(at_least(floor_mod(count, kLanes), kLast)), kLast, false);
  add_rest(simplify_(at_least(floor_mod(count, kLast), 1)), kLast, true);
  return make_block(std::move(out));
}

// Puts the last terms of a reduction, or the last panel of a matrix, of which some are outside,
// after the others: the conditions of these are known. nullopt for loops that no other primitive
// has divided, and for those that other stages are computed in.
std::optional<Stmt> Nest::open_terms(size_t position, const Frame& frame) {
  const uint32_t iter = state_.leaves[position];
  const Expr count = frame.extents[iter];
  const Binary* v = std::get_if<Binary>(&count->kind);
  const bool hosts = std::ranges::any_of(state_.leaves, hosts_at_);
  if (v == nullptr || v->op != BinaryOp::kFloorDivide || !is_of_sizes(count) ||
      state_.iters[iter].kind != LoopKind::kSerial || (hosts && !state_.iters[iter].is_reduce))
    return std::nullopt;
  const std::optional<int64_t> factor = as_int(v->b);
  if (!factor || *factor < 2) return std::nullopt;
  const Expr terms = simplify_(v->a - (*factor - 1));
  if (!is_of_sizes(terms) || simplify_.bounds(terms).lo < 0) return std::nullopt;
  const Expr whole = simplify_(floor_div(terms, *factor));
  Stmt most = range(position, frame, 0, whole);
  Stmt last = range(position, frame, whole, 1);
  return make_block({std::move(most),
                     make_if(simplify_(at_least(floor_mod(terms, *factor), 1)), std::move(last))});
}

// Takes for true that the loops of which a loop is made stay within their extents.
void Nest::assume_of_fused(const Frame& frame, uint32_t iter, const Var& var) {
  if (as_int(frame.extents[iter])) return;
  std::map<uint32_t, Expr> values = {{iter, Expr(var)}};
  for (size_t k = state_.relations.size(); k-- > 0;) {
    const Relation& r = state_.relations[k];
    const auto whole = values.find(r.whole);
    const Expr inner = frame.extents[r.inner];
    if (r.is_split || whole == values.end()) continue;
    const Expr outer = simplify_(floor_div(whole->second, inner));
    if (!as_int(frame.extents[r.outer])) simplify_.assume(frame.extents[r.outer] - 1 - outer);
    values[r.outer] = outer;
    values[r.inner] = simplify_(floor_mod(whole->second, inner));
  }
}

// Takes for true what a loop of an open extent implies.
void Nest::assume_of_loop(const Frame& frame, uint32_t iter, const Var& var, const Expr& count) {
  if (is_of_sizes(count)) simplify_.assume(count - 1 - Expr(var));
  assume_of_fused(frame, iter, var);
  const Binary* division = std::get_if<Binary>(&count->kind);
  if (division != nullptr && division->op == BinaryOp::kFloorDivide && is_of_sizes(count)) {
    const int64_t divisor = as_int(division->b).value_or(0);
    if (divisor > 0) simplify_.assume(division->a - divisor - Expr(var) * divisor);
  }
  for (size_t k = 0; k < state_.relations.size(); ++k) {
    const Relation& r = state_.relations[k];
    if (!r.is_split || r.outer != iter || !frame.is_settled[k] || !frame.bases[k].is_empty())
      continue;
    const Expr whole = frame.extents[r.whole];
    if (is_of_sizes(whole) && as_int(frame.extents[r.inner]) == r.factor)
      simplify_.assume(whole - r.factor - Expr(var) * r.factor);
  }
}

}  // namespace byoc::te
