// SPDX-License-Identifier: Apache-2.0
// Rules for integers: sums, divisions by positive constants, order.
#include <algorithm>
#include <numeric>

#include "core/te/number.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {
namespace {

constexpr size_t kLongSum = 16;  // longer ones stay as they are, so that chains cost linear time

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

const Binary* as_binary(const Expr& x, BinaryOp op) {
  const Binary* v = std::get_if<Binary>(&x->kind);
  return v != nullptr && v->op == op ? v : nullptr;
}

}  // namespace

Expr Simplifier::sum(const Expr& x) {
  Linear sum = linear(x);
  if (sum.terms.size() > kLongSum) {
    opaque_.insert(&*x);
    return x;
  }
  join_divisions(sum);
  while (join_open_divisions(sum)) {
  }
  return sum.expr();
}

// Replaces f*c * floor_div(y, c) + f * floor_mod(y, c) by f * y.
void Simplifier::join_divisions(Linear& sum) {
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    const Linear::Term modulo = sum.terms[k];
    const Binary* v = as_binary(modulo.x, BinaryOp::kFloorModulo);
    const Constant divisor = v ? as_int(v->b) : std::nullopt;
    if (!divisor || *divisor <= 0 || sum.terms.size() < 2) continue;
    const Expr division = (*this)(floor_div(v->a, v->b));
    const int64_t factor =
        wrapped(sum.dtype, static_cast<int64_t>(static_cast<uint64_t>(modulo.factor) *
                                                static_cast<uint64_t>(*divisor)));
    auto partner = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const Linear::Term& term) {
      return term.x.same_as(division) && term.factor == factor;
    });
    if (partner == sum.terms.end()) continue;
    const Expr whole = v->a;
    sum.terms.erase(partner);
    std::erase_if(sum.terms, [&](const Linear::Term& term) { return term.x.same_as(modulo.x); });
    sum.add(linear(whole), modulo.factor);
    return join_divisions(sum);  // fewer terms than before
  }
}

Expr Simplifier::divide(const Expr& x, const Expr& dividend, int64_t divisor, bool is_modulo) {
  if (divisor == 1) return is_modulo ? int_constant(x.dtype(), 0) : dividend;
  std::optional<Quotient> parts = divide(linear(dividend), divisor);
  if (!parts) return x;
  const Linear& result_form = is_modulo ? parts->remainder : parts->quotient;
  for (const Linear::Term& term : result_form.terms) {
    if (term.x.same_as(x)) return x;  // nothing to do
  }
  Expr result = result_form.expr();
  return (*this)(result);
}

// Finds x = divisor * quotient + remainder, 0 <= remainder < divisor; nullopt when
// something may wrap.
std::optional<Simplifier::Quotient> Simplifier::divide(const Linear& x, int64_t divisor) {
  if (!is_exact(x, bounds_)) return std::nullopt;
  Linear whole{x.dtype, {}, floor_divided(x.constant, divisor)};
  Linear rest{x.dtype, {}, x.constant - divisor * whole.constant};
  for (const Linear::Term& term : x.terms) {
    if (term.factor % divisor == 0) whole.terms.push_back({term.x, term.factor / divisor});
    else rest.terms.push_back(term);
  }
  if (!is_exact(whole, bounds_) || !is_exact(rest, bounds_)) return std::nullopt;
  const WideInterval range = *range_of(rest, bounds_);
  const int64_t lo = floor_divided(static_cast<int64_t>(range.lo), divisor);
  const int64_t hi = floor_divided(static_cast<int64_t>(range.hi), divisor);
  if (lo == hi) {
    whole.constant += lo;
    rest.constant -= lo * divisor;
    return Quotient{whole, rest};
  }
  std::optional<Quotient> parts = divide_parts(rest, divisor);
  if (!parts) parts = divide_rest(rest, divisor);
  whole.add(parts->quotient, 1);
  return Quotient{whole, parts->remainder};
}

// Finds x = g * y + s with 0 <= s < g and g a divisor of the divisor: only y needs to be divided.
std::optional<Simplifier::Quotient> Simplifier::divide_parts(const Linear& x, int64_t divisor) {
  std::vector<int64_t> common;
  for (const Linear::Term& term : x.terms) common.push_back(std::gcd(term.factor, divisor));
  std::sort(common.rbegin(), common.rend());
  common.erase(std::unique(common.begin(), common.end()), common.end());
  for (int64_t g : common) {
    if (g <= 1) return std::nullopt;
    Linear y{x.dtype, {}, floor_divided(x.constant, g)};
    Linear s{x.dtype, {}, x.constant - g * y.constant};
    for (const Linear::Term& term : x.terms) {
      if (term.factor % g == 0) y.terms.push_back({term.x, term.factor / g});
      else s.terms.push_back(term);
    }
    const std::optional<WideInterval> range = range_of(s, bounds_);
    if (!range || range->lo < 0 || range->hi >= g) continue;
    if (g == divisor) return Quotient{y, s};
    std::optional<Quotient> parts = divide(y, divisor / g);
    if (!parts) continue;
    s.add(parts->remainder, g);
    return Quotient{parts->quotient, s};
  }
  return std::nullopt;
}

Simplifier::Quotient Simplifier::divide_rest(const Linear& x, int64_t divisor) {
  const Expr dividend = (*this)(x.expr());
  return {linear(divide_term(dividend, divisor, false)),
          linear(divide_term(dividend, divisor, true))};
}

// Returns floor_div(c*y + u, c*divisor) for x = y + floor_div(u, c), if that cannot wrap around.
// Both are equal: the digits of an index that is split get one form, by which they are joined.
std::optional<Expr> Simplifier::divide_once(const Expr& x, int64_t divisor) {
  Linear whole = linear(x);
  auto is_division = [](const Linear::Term& term) {
    const Binary* v = term.factor == 1 ? as_binary(term.x, BinaryOp::kFloorDivide) : nullptr;
    const Constant by = v ? as_int(v->b) : std::nullopt;
    return by && *by > 0;
  };
  const auto inner = std::ranges::find_if(whole.terms, is_division);
  if (inner == whole.terms.end() || std::ranges::count_if(whole.terms, is_division) > 1)
    return std::nullopt;
  const Expr division = inner->x;
  const Binary& v = std::get<Binary>(division->kind);
  const Wide product = Wide{*as_int(v.b)} * divisor;
  if (product > all_of(x.dtype()).hi) return std::nullopt;
  const Expr by = int_constant(x.dtype(), static_cast<int64_t>(product));
  if (whole.terms.size() == 1 && whole.constant == 0) return (*this)(floor_div(v.a, by));
  whole.terms.erase(inner);
  Linear joined = linear(v.a);
  const std::optional<WideInterval> y = range_of(whole, bounds_), u = range_of(joined, bounds_);
  const Wide c = *as_int(v.b);
  const Interval all = all_of(x.dtype());
  if (!y || !u || c * y->lo + u->lo < all.lo || c * y->hi + u->hi > all.hi) return std::nullopt;
  joined.add(whole, *as_int(v.b));
  return (*this)(floor_div(joined.expr(), by));
}

// Joins divisions of divisions, by constants.
Expr Simplifier::divide_term(const Expr& x, int64_t divisor, bool is_modulo) {
  const DType dtype = x.dtype();
  const Expr by = int_constant(dtype, divisor);
  if (!is_modulo) {
    if (std::optional<Expr> once = divide_once(x, divisor)) return *once;
  }
  if (const Binary* v = as_binary(x, BinaryOp::kFloorModulo)) {
    const Constant inner = as_int(v->b);
    if (inner && *inner > 0 && *inner % divisor == 0)
      return (*this)(is_modulo
                         ? floor_mod(v->a, by)
                         : floor_mod(floor_div(v->a, by), int_constant(dtype, *inner / divisor)));
  }
  return intern(is_modulo ? floor_mod(x, by) : floor_div(x, by));
}

std::optional<bool> Simplifier::decide(BinaryOp op, const Expr& a, const Expr& b) {
  if (!is_float(a.dtype()) && a.same_as(b))
    return op == BinaryOp::kEqual || op == BinaryOp::kLessEqual;
  if (a.dtype() == DType::kU64) return std::nullopt;
  Linear left = linear(a);
  const Linear right = linear(b);
  if (!is_exact(left, bounds_) || !is_exact(right, bounds_)) return std::nullopt;
  left.add(right, -1);
  const std::optional<WideInterval> d = range_of(left, bounds_);
  // An unsigned difference is no difference, and a factor or constant may have wrapped around.
  if (!d || !is_signed_int(a.dtype()) || !is_exact(left, bounds_)) return std::nullopt;
  if (std::optional<bool> truth = decide_by_facts(op, left)) return truth;
  switch (op) {
    case BinaryOp::kLess:
      return d->hi < 0 ? std::optional(true) : d->lo >= 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::kLessEqual:
      return d->hi <= 0 ? std::optional(true) : d->lo > 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::kEqual:
      return d->hi < 0 || d->lo > 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::kNotEqual:
      return d->hi < 0 || d->lo > 0 ? std::optional(true) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Expr Simplifier::min_max(const Expr& x, const Binary& v) {
  const bool is_min = v.op == BinaryOp::kMin;
  if (v.a.same_as(v.b)) return v.a;
  if (std::optional<bool> is_a_less = decide(BinaryOp::kLessEqual, v.a, v.b))
    return *is_a_less == is_min ? v.a : v.b;
  for (bool is_swapped : {false, true}) {
    const Expr& outer = is_swapped ? v.a : v.b;
    const Binary* inner = as_binary(is_swapped ? v.b : v.a, v.op);
    if (inner == nullptr) continue;
    if (inner->a.same_as(outer) || inner->b.same_as(outer)) return is_swapped ? v.b : v.a;
    for (const auto& [one, other] : {std::pair(inner->a, inner->b), {inner->b, inner->a}}) {
      if (std::optional<bool> is_less = decide(BinaryOp::kLessEqual, one, outer))
        return (*this)(binary(v.op, *is_less == is_min ? one : outer, other));
    }
  }
  return x;
}

Expr Simplifier::logic(const Expr& x, const Binary& v) {
  for (bool is_swapped : {false, true}) {
    const Constant known = as_int(is_swapped ? v.b : v.a);
    const Expr& other = is_swapped ? v.a : v.b;
    if (!known) continue;
    const int64_t ones = wrapped(x.dtype(), -1);
    if (v.op == BinaryOp::kAnd)
      return *known == ones ? other : *known == 0 ? int_constant(x.dtype(), 0) : x;
    if (*known == 0) return other;
    if (v.op == BinaryOp::kOr && *known == ones) return int_constant(x.dtype(), ones);
  }
  if (!v.a.same_as(v.b)) return x;
  return v.op == BinaryOp::kXor ? int_constant(x.dtype(), 0) : v.a;
}

}  // namespace byoc::te
