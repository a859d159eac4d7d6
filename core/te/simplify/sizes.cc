// SPDX-License-Identifier: Apache-2.0
// Rules for sizes that a run gives: products are sums of products of factors in one order, and a
// division by a size is undone where the dividend has it as a factor:
//   (b * T + t) * C      b * T * C + t * C
//   (b * T + t) / T      b, where 0 <= t < T
//   (f / T) * T + f % T  f
#include <algorithm>

#include "byoc/te/tensor.h"
#include "core/te/number.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {
namespace {

constexpr size_t kMostTerms = 16;  // of a product that is multiplied out
constexpr int kMostFacts = 4;      // that are combined: loops and blocks around a place
constexpr int64_t kMostTimes = int64_t{1} << 31;  // that a fact is subtracted
constexpr int64_t kMostProduct = int64_t{1} << 60;

bool is_size(const Expr& x) {
  const VarRef* ref = std::get_if<VarRef>(&x->kind);
  return ref != nullptr && ref->var.is_size();
}

// Appends the factors of a product: of x itself when it is none.
void add_factors(const Expr& x, Exprs& out) {
  const Binary* v = std::get_if<Binary>(&x->kind);
  if (v == nullptr || v->op != BinaryOp::kMultiply) return out.push_back(x);
  add_factors(v->a, out);
  add_factors(v->b, out);
}

Exprs factors_of(const Expr& x) {
  Exprs out;
  add_factors(x, out);
  return out;
}

// Puts sizes last, by name, so that equal products are equal expressions.
void sort_factors(Exprs& factors) {
  const auto name = [](const Expr& x) { return std::get<VarRef>(x->kind).var.name(); };
  const auto sizes = std::stable_partition(factors.begin(), factors.end(),
                                           [](const Expr& x) { return !is_size(x); });
  std::stable_sort(sizes, factors.end(),
                   [&](const Expr& a, const Expr& b) { return name(a) < name(b); });
}

// Removes each of `divisors`, once. Returns false when one is not there.
bool remove_factors(Exprs& from, const Exprs& divisors) {
  for (const Expr& divisor : divisors) {
    const auto at = std::ranges::find_if(from, [&](auto& x) { return x.same_as(divisor); });
    if (at == from.end()) return false;
    from.erase(at);
  }
  return true;
}

Expr multiplied(const Exprs& factors) {
  Expr out;
  for (const Expr& factor : factors) out = out.is_empty() ? factor : out * factor;
  return out;
}

// Returns false where a multiple of a sum might wrap around: then it would prove nothing.
bool fits(const Linear& sum, int64_t times) {
  const auto is_small = [&](int64_t factor) {
    int64_t product = 0;
    return !__builtin_mul_overflow(factor, times, &product) && -kMostProduct < product &&
           product < kMostProduct;
  };
  return is_small(sum.constant) && std::ranges::all_of(sum.terms, [&](const Linear::Term& term) {
           return is_small(term.factor);
         });
}

}  // namespace

// Multiplies sums out where one of them is of sizes; nullopt for other products.
std::optional<Expr> Simplifier::open_product(const Expr& a, const Expr& b) {
  if (a.dtype() != DType::kI64 || as_int(a) || as_int(b)) return std::nullopt;
  if (!is_of_sizes(a) && !is_of_sizes(b)) return std::nullopt;
  const Linear left = linear(a), right = linear(b);
  if ((left.terms.size() + 1) * (right.terms.size() + 1) > kMostTerms) return std::nullopt;
  Linear out{DType::kI64, {}, left.constant * right.constant};
  auto add = [&](const Linear& term, int64_t times) { out.add(term, times); };
  for (const Linear::Term& x : left.terms) add({DType::kI64, {{x.x, x.factor}}, 0}, right.constant);
  for (const Linear::Term& y : right.terms) add({DType::kI64, {{y.x, y.factor}}, 0}, left.constant);
  for (const Linear::Term& x : left.terms) {
    for (const Linear::Term& y : right.terms) {
      Exprs factors = factors_of(x.x);
      add_factors(y.x, factors);
      sort_factors(factors);
      add({DType::kI64, {{intern(multiplied(factors)), x.factor}}, 0}, y.factor);
    }
  }
  while (join_open_divisions(out)) {
  }
  return out.expr();
}

// Replaces factor * rest * D * (a / D) + factor * rest * (a % D) by factor * rest * a, once.
bool Simplifier::join_open_divisions(Linear& sum) {
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    const Linear::Term modulo = sum.terms[k];
    Exprs rest = factors_of(modulo.x);
    const auto at = std::ranges::find_if(rest, [](const Expr& x) {
      const Binary* v = std::get_if<Binary>(&x->kind);
      return v != nullptr && v->op == BinaryOp::kFloorModulo && is_of_sizes(v->b);
    });
    if (at == rest.end() || sum.dtype != DType::kI64) continue;
    const Binary division = std::get<Binary>((*at)->kind);
    rest.erase(at);
    auto times_rest = [&](const Expr& x) {
      Expr product = x;
      for (const Expr& factor : rest) product = product * factor;
      return linear((*this)(product));
    };
    const Linear partner = times_rest(floor_div(division.a, division.b) * division.b);
    const bool has_partner = std::ranges::all_of(partner.terms, [&](const Linear::Term& term) {
      return std::ranges::any_of(sum.terms, [&](const Linear::Term& mine) {
        return mine.x.same_as(term.x) && mine.factor == term.factor * modulo.factor;
      });
    });
    if (!has_partner || partner.terms.empty()) continue;
    sum.add(partner, -modulo.factor);
    sum.add({sum.dtype, {modulo}, 0}, -1);
    sum.add(times_rest(division.a), modulo.factor);
    return true;
  }
  return false;
}

// Divides by a product of sizes where the rest of the dividend is within one of it.
std::optional<Expr> Simplifier::open_division(const Binary& v) {
  if (v.a.dtype() != DType::kI64 || !is_of_sizes(v.b)) return std::nullopt;
  const Linear dividend = linear(v.a), divisor = linear(v.b);
  if (divisor.terms.size() != 1 || divisor.constant != 0) return std::nullopt;
  const Exprs factors = factors_of(divisor.terms[0].x);
  const int64_t times = divisor.terms[0].factor;
  Linear whole{DType::kI64, {}, 0}, rest{DType::kI64, {}, dividend.constant};
  for (const Linear::Term& term : dividend.terms) {
    Exprs left = factors_of(term.x);
    const bool divides = term.factor % times == 0 && remove_factors(left, factors);
    if (!divides) rest.terms.push_back(term);
    else if (left.empty()) whole.constant += term.factor / times;
    else whole.terms.push_back({intern(multiplied(left)), term.factor / times});
  }
  if (!is_exact(dividend, bounds_) || !is_exact(rest, bounds_) || bounds_(v.b).lo < 0)
    return std::nullopt;
  Linear room = divisor;
  room.add(rest, -1);
  room.constant -= 1;
  if (!is_natural(rest) || !is_natural(room)) return std::nullopt;
  return (v.op == BinaryOp::kFloorModulo ? rest : whole).expr();
}

// A quotient plus a whole number is at least 0 where the dividend plus as many divisors is.
std::optional<Linear> Simplifier::without_quotient(const Linear& x, size_t term) {
  const auto& [quotient, factor] = x.terms[term];
  const Binary* v = std::get_if<Binary>(&quotient->kind);
  if (v == nullptr || v->op != BinaryOp::kFloorDivide) return std::nullopt;
  const int64_t divisor = as_int(v->b).value_or(0);
  if (divisor < 2 || divisor > kMostTimes) return std::nullopt;
  const Linear dividend = linear(v->a);
  Linear rest = x;
  rest.terms.erase(rest.terms.begin() + static_cast<ptrdiff_t>(term));
  if (factor == 1) {
    if (!fits(rest, divisor)) return std::nullopt;
    Linear out = dividend;
    out.add(rest, divisor);
    return out;
  }
  // divisor * quotient is at most the dividend
  if (factor >= 0 || factor % divisor != 0 || !fits(dividend, factor / divisor))
    return std::nullopt;
  rest.add(dividend, factor / divisor);
  return rest;
}

void Simplifier::assume(const Expr& x) {
  facts_.push_back(linear((*this)(x)));
  const Linear fact = facts_.back();
  for (size_t k = 0; k < fact.terms.size(); ++k) {
    if (fact.terms[k].factor != 1) continue;
    if (std::optional<Linear> other = without_quotient(fact, k))
      facts_.push_back(*std::move(other));
  }
}

Expr Simplifier::with_values(const Expr& x) {
  return values_.empty() ? x : (*this)(Substitution(values_)(x));
}

bool Simplifier::is_natural(const Expr& x) { return is_natural(linear((*this)(x))); }

namespace {

// Returns how often a fact is subtracted from x, so that a part that both subtract is gone: what is
// left of x is simpler. 0: they have none. The part has the variable of the loop or block for which
// the fact holds: an expression of sizes has the same value outside of it, where a loop may have no
// iterations.
int64_t uses_of(const Linear& fact, const Linear& x) {
  if (fact.dtype != x.dtype) return 0;
  for (const Linear::Term& mine : fact.terms) {
    if (mine.factor >= 0 || is_of_sizes(mine.x)) continue;
    for (const Linear::Term& term : x.terms) {
      const bool is_multiple = term.factor >= -kMostTimes && term.factor <= mine.factor &&
                               term.factor % mine.factor == 0;
      if (!is_multiple || !term.x.same_as(mine.x)) continue;
      const int64_t times = term.factor / mine.factor;
      return fits(fact, times) ? times : 0;
    }
  }
  return 0;
}

}  // namespace

bool Simplifier::is_natural(const Linear& x) {
  return is_signed_int(x.dtype) && is_exact(x, bounds_) && is_natural(x, kMostFacts);
}

// Subtracts facts as long as that helps: each loop or block around gives one.
bool Simplifier::is_natural(const Linear& x, int facts) {
  const std::optional<WideInterval> range = range_of(x, bounds_);
  if (!range) return false;
  if (range->lo >= 0) return true;
  if (facts <= 0) return false;
  const bool follows = std::ranges::any_of(facts_, [&](const Linear& fact) {
    const int64_t times = uses_of(fact, x);
    if (times == 0) return false;
    Linear left = x;
    left.add(fact, -times);
    return is_natural(left, facts - 1);
  });
  return follows || is_natural_by_remainders(x, facts) || is_natural_by_quotients(x, facts);
}

bool Simplifier::is_natural_by_quotients(const Linear& x, int facts) {
  for (size_t k = 0; k < x.terms.size(); ++k) {
    const std::optional<Linear> other = without_quotient(x, k);
    if (other && is_natural(*other, facts - 1)) return true;
  }
  return false;
}

// A remainder is less than its divisor. Where x subtracts one of a division by sizes, this is a
// fact: the variables of the dividend are those of loops as long as the divisor, or longer.
bool Simplifier::is_natural_by_remainders(const Linear& x, int facts) {
  return facts > 0 && std::ranges::any_of(x.terms, [&](const Linear::Term& term) {
           const Binary* v = std::get_if<Binary>(&term.x->kind);
           const bool is_remainder = v != nullptr && v->op == BinaryOp::kFloorModulo &&
                                     is_of_sizes(v->b) && !is_of_sizes(v->a);
           if (!is_remainder || term.factor >= 0 || term.factor < -kMostTimes) return false;
           Linear most = linear(v->b);  // divisor - 1 - remainder
           most.constant -= 1;
           most.add({x.dtype, {{term.x, 1}}, 0}, -1);
           if (!fits(most, term.factor)) return false;
           Linear left = x;
           left.add(most, term.factor);
           return is_natural(left, facts - 1);
         });
}

// `difference` is that of the operands, which no part of wraps around.
std::optional<bool> Simplifier::decide_by_facts(BinaryOp op, const Linear& difference) {
  if (facts_.empty() || (op != BinaryOp::kLess && op != BinaryOp::kLessEqual)) return std::nullopt;
  const int64_t strict = op == BinaryOp::kLess ? 1 : 0;
  Linear holds{difference.dtype, {}, -strict}, fails = difference;
  holds.add(difference, -1);
  if (is_natural(holds)) return true;
  fails.constant -= 1 - strict;
  return is_natural(fails) ? std::optional(false) : std::nullopt;
}

}  // namespace byoc::te
