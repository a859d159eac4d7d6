// SPDX-License-Identifier: Apache-2.0
#include "core/te/simplify/linear.h"

#include <algorithm>

#include "core/te/number.h"

namespace byoc::te {
namespace {

// Returns a * b modulo 2^64.
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

Linear scaled(const Linear& x, int64_t factor) {
  Linear out{x.dtype, {}, 0};
  out.add(x, factor);
  return out;
}

uint64_t size_of(int64_t factor) {
  return factor < 0 ? 0 - static_cast<uint64_t>(factor) : static_cast<uint64_t>(factor);
}

}  // namespace

void Linear::add(const Linear& other, int64_t count) {
  constant = wrapped(dtype, plus(constant, times(other.constant, count)));
  for (const Term& term : other.terms) {
    const int64_t more = wrapped(dtype, times(term.factor, count));
    auto known = std::find_if(terms.begin(), terms.end(),
                              [&](const Term& mine) { return mine.x.same_as(term.x); });
    if (known == terms.end()) terms.push_back({term.x, more});
    else known->factor = wrapped(dtype, plus(known->factor, more));
  }
  std::erase_if(terms, [](const Term& term) { return term.factor == 0; });
}

Expr Linear::expr() const {
  std::vector<Term> sorted = terms;
  const bool is_signed = is_signed_int(dtype);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Term& a, const Term& b) {
    const bool a_minus = is_signed && a.factor < 0, b_minus = is_signed && b.factor < 0;
    if (a_minus != b_minus) return b_minus;  // so that the sum starts without a sign
    return size_of(a.factor) > size_of(b.factor);
  });
  Expr sum;
  for (const Term& term : sorted) {
    const bool is_minus = is_signed && term.factor < 0 && !sum.is_empty();
    const int64_t size = is_minus ? wrapped(dtype, times(term.factor, -1)) : term.factor;
    Expr part = size == 1 ? term.x : term.x * int_constant(dtype, size);
    sum = sum.is_empty() ? part : is_minus ? sum - part : sum + part;
  }
  if (sum.is_empty()) return int_constant(dtype, constant);
  if (constant == 0) return sum;
  const bool is_minus = is_signed && constant < 0 && wrapped(dtype, times(constant, -1)) > 0;
  return is_minus ? sum - int_constant(dtype, times(constant, -1))
                  : sum + int_constant(dtype, constant);
}

Linear linear_of(const Expr& x, const std::unordered_set<const void*>& opaque) {
  if (opaque.contains(&*x)) return {x.dtype(), {{x, 1}}, 0};
  if (std::optional<int64_t> value = as_int(x)) return {x.dtype(), {}, *value};
  if (const Binary* v = std::get_if<Binary>(&x->kind)) {
    if (v->op == BinaryOp::kAdd || v->op == BinaryOp::kSubtract) {
      Linear out = linear_of(v->a, opaque);
      out.add(linear_of(v->b, opaque), v->op == BinaryOp::kAdd ? 1 : -1);
      return out;
    }
    if (v->op == BinaryOp::kMultiply) {
      if (std::optional<int64_t> factor = as_int(v->b))
        return scaled(linear_of(v->a, opaque), *factor);
      if (std::optional<int64_t> factor = as_int(v->a))
        return scaled(linear_of(v->b, opaque), *factor);
    }
  }
  if (const Unary* v = std::get_if<Unary>(&x->kind)) {
    if (v->op == UnaryOp::kNegate) return scaled(linear_of(v->x, opaque), -1);
  }
  return {x.dtype(), {{x, 1}}, 0};
}

std::optional<WideInterval> range_of(const Linear& sum, Bounds& bounds) {
  constexpr Wide kTooLarge = Wide{1} << 100;
  if (sum.dtype == DType::kU64) return std::nullopt;
  WideInterval out{sum.constant, sum.constant};
  for (const Linear::Term& term : sum.terms) {
    const Interval x = bounds(term.x);
    const Wide ends[] = {Wide{term.factor} * x.lo, Wide{term.factor} * x.hi};
    out.lo += std::min(ends[0], ends[1]);
    out.hi += std::max(ends[0], ends[1]);
    if (out.lo < -kTooLarge || out.hi > kTooLarge) return std::nullopt;
  }
  return out;
}

bool is_exact(const Linear& sum, Bounds& bounds) {
  const std::optional<WideInterval> range = range_of(sum, bounds);
  const Interval all = all_of(sum.dtype);
  return range && range->lo >= all.lo && range->hi <= all.hi;
}

}  // namespace byoc::te
