// SPDX-License-Identifier: Apache-2.0
// Splits of extents that a run gives. Iterations of the whole factor come first, then the rest, as
// one loop of an open extent or as blocks of 2^k iterations, so that tiles have constant extents:
//   for o in 0..T / 6 { for i in 0..6 { .. } }
//   if 4 <= T % 6 { for i in 0..4 { .. } }
//   if 2 <= T % 4 { .. }                        of the rest, T % 6
#include <algorithm>

#include "byoc/te/rewrite.h"
#include "core/te/lower/nest.h"

namespace byoc::te {
namespace {

constexpr int64_t kMostOfBlocks = 64;  // a rest of more iterations is one loop

Expr at_least(const Expr& x, const Expr& least) { return least <= x; }

}  // namespace

void Nest::split_open_extent(Frame& frame, size_t relation) const {
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  if (simplify_.bounds(whole).hi <= r.factor) {
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

// Returns true for an inner loop that is no tile: it is divided further, or long.
bool Nest::has_one_rest(const Relation& relation) const {
  const auto is_divided = std::ranges::any_of(state_.relations, [&](const Relation& other) {
    return other.is_split && other.whole == relation.inner;
  });
  return is_divided || relation.factor > kMostOfBlocks;
}

// Settles a split whose inner loop begins at `first`, and puts what is inside.
Stmt Nest::open_block(Frame frame, size_t relation, const Expr& first, const Expr& count,
                      const Put& put) const {
  const Relation& r = state_.relations[relation];
  const Expr whole = frame.extents[r.whole];
  const Var base("base");
  simplify_.set(base, {0, std::max<int64_t>(simplify_.bounds(whole).hi - 1, 0)});
  simplify_.assume(whole - count - base);
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
  int64_t block = 1;
  while (2 * block < r.factor) block *= 2;
  std::vector<Stmt> out;
  for (; block >= 1; block /= 2) {
    const Expr before = floor_div(rest, 2 * block) * (2 * block);
    Stmt one = open_block(frame, relation, begin + before, block, put);
    out.push_back(make_if(simplify_(at_least(floor_mod(rest, 2 * block), block)), std::move(one)));
  }
  return make_block(std::move(out));
}

// Puts the loop over whole iterations, and what is left.
Stmt Nest::open_parts(size_t position, const Frame& frame, size_t relation) {
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

// Takes for true what a loop of an open extent implies.
void Nest::assume_of_loop(const Frame& frame, uint32_t iter, const Var& var, const Expr& count) {
  if (is_of_sizes(count)) simplify_.assume(count - 1 - Expr(var));
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
