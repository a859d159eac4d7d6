// SPDX-License-Identifier: Apache-2.0
#include "core/te/simplify/bounds.h"

#include <algorithm>

#include "byoc/ir/visit.h"

namespace byoc::te {
namespace {

constexpr Interval kAll;

Wide floor_divided_wide(Wide a, Wide b) {
  Wide quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Returns the least and the greatest result of `f` at the ends.
template <class F>
Interval corners(DType dtype, Interval a, Interval b, F&& f) {
  const Wide at[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return within(dtype, *std::min_element(at, at + 4), *std::max_element(at, at + 4));
}

Interval modulo(DType dtype, Interval a, Interval b) {
  if (b.lo <= 0) return all_of(dtype);
  if (a.lo >= 0 && a.hi < b.lo) return a;
  return within(dtype, 0, b.hi - 1);
}

// Returns the interval of kDivide's remainder, whose sign is that of the dividend.
Interval remainder(DType dtype, Interval a, Interval b) {
  if (b.lo <= 0) return all_of(dtype);
  return within(dtype, a.lo >= 0 ? 0 : std::max<Wide>(a.lo, -Wide{b.hi} + 1),
                a.hi <= 0 ? 0 : std::min<Wide>(a.hi, Wide{b.hi} - 1));
}

Interval truth(bool is_always, bool is_never) { return {is_always ? 1 : 0, is_never ? 0 : 1}; }

Interval bits(BinaryOp op, DType dtype, Interval a, Interval b) {
  if (op == BinaryOp::kAnd && a.lo >= 0 && b.lo >= 0) {
    if (dtype == DType::kBool) return {a.lo & b.lo, a.hi & b.hi};
    return {0, std::min(a.hi, b.hi)};
  }
  if (dtype == DType::kBool && op == BinaryOp::kOr) return {a.lo | b.lo, a.hi | b.hi};
  return all_of(dtype);
}

}  // namespace

Interval all_of(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  if (is_float(dtype) || dtype_size(dtype) == 8) return kAll;
  const int64_t count = int64_t{1} << (8 * dtype_size(dtype));
  return is_signed_int(dtype) ? Interval{-count / 2, count / 2 - 1} : Interval{0, count - 1};
}

Interval within(DType dtype, Wide lo, Wide hi) {
  Interval all = all_of(dtype);
  if (dtype == DType::kU64) all.lo = 0;
  if (lo < all.lo || hi > all.hi) return all_of(dtype);
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Interval Bounds::operator()(const Expr& x) {
  if (is_float(x.dtype())) return kAll;
  if (std::optional<int64_t> value = as_int(x)) {
    bool is_beyond = x.dtype() == DType::kU64 && *value < 0;
    return is_beyond ? kAll : Interval{*value, *value};
  }
  auto known = known_.find(&*x);
  if (known != known_.end()) return known->second.second;
  Interval result = compute(x);
  known_.emplace(&*x, std::pair(x, result));
  return result;
}

Interval Bounds::unary(const Unary& x, DType dtype) {
  if (is_float(x.x.dtype())) return all_of(dtype);
  Interval a = (*this)(x.x);
  if (dtype == DType::kU64) return kAll;
  switch (x.op) {
    case UnaryOp::kNegate:
      return within(dtype, -Wide{a.hi}, -Wide{a.lo});
    case UnaryOp::kNot:
      return {1 - a.hi, 1 - a.lo};
    case UnaryOp::kBitwiseNot:
      return within(dtype, -Wide{a.hi} - 1, -Wide{a.lo} - 1);
    case UnaryOp::kAbs:
      if (a.lo >= 0) return a;
      return within(dtype, a.hi <= 0 ? -Wide{a.hi} : 0, std::max(-Wide{a.lo}, Wide{a.hi}));
    default:
      return all_of(dtype);
  }
}

Interval Bounds::binary(const Binary& x) {
  const DType dtype = x.a.dtype();
  const bool is_comparison = x.op >= BinaryOp::kEqual;
  const Interval unknown = is_comparison ? Interval{0, 1} : all_of(dtype);
  if (is_float(dtype)) return unknown;
  const Interval a = (*this)(x.a), b = (*this)(x.b);
  if (dtype == DType::kU64 && (a.lo < 0 || b.lo < 0)) return unknown;
  const bool is_zero_out = b.lo > 0 || b.hi < 0;
  switch (x.op) {
    case BinaryOp::kAdd:
      return within(dtype, Wide{a.lo} + b.lo, Wide{a.hi} + b.hi);
    case BinaryOp::kSubtract:
      return within(dtype, Wide{a.lo} - b.hi, Wide{a.hi} - b.lo);
    case BinaryOp::kMultiply:
      return corners(dtype, a, b, [](Wide p, Wide q) { return p * q; });
    case BinaryOp::kDivide:
      return is_zero_out ? corners(dtype, a, b, [](Wide p, Wide q) { return p / q; }) : unknown;
    case BinaryOp::kFloorDivide:
      return is_zero_out ? corners(dtype, a, b, floor_divided_wide) : unknown;
    case BinaryOp::kFloorModulo:
      return modulo(dtype, a, b);
    case BinaryOp::kRemainder:
      return remainder(dtype, a, b);
    case BinaryOp::kMin:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::kMax:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::kEqual:
      return truth(a.lo == a.hi && a == b, a.hi < b.lo || b.hi < a.lo);
    case BinaryOp::kNotEqual:
      return truth(a.hi < b.lo || b.hi < a.lo, a.lo == a.hi && a == b);
    case BinaryOp::kLess:
      return truth(a.hi < b.lo, a.lo >= b.hi);
    case BinaryOp::kLessEqual:
      return truth(a.hi <= b.lo, a.lo > b.hi);
    default:
      return bits(x.op, dtype, a, b);
  }
}

Interval Bounds::compute(const Expr& x) {
  return std::visit(overloaded{
                        [&](const IntImm&) { return kAll; },  // answered before
                        [&](const FloatImm&) { return kAll; },
                        [&](const VarRef& v) {
                          auto known = ranges_.find(v.var.id());
                          if (known != ranges_.end()) return known->second;
                          if (v.var.is_size()) return Interval{v.var.min(), v.var.max()};
                          return all_of(x.dtype());
                        },
                        [&](const Unary& v) { return unary(v, x.dtype()); },
                        [&](const Binary& v) { return binary(v); },
                        [&](const Select& v) {
                          Interval condition = (*this)(v.condition);
                          if (condition.lo == 1) return (*this)(v.yes);
                          if (condition.hi == 0) return (*this)(v.no);
                          Interval a = (*this)(v.yes), b = (*this)(v.no);
                          return Interval{std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
                        },
                        [&](const Cast& v) {
                          if (x.dtype() == DType::kBool || is_float(v.x.dtype()))
                            return all_of(x.dtype());
                          Interval a = (*this)(v.x);
                          if (v.x.dtype() == DType::kU64 && a.lo < 0) return all_of(x.dtype());
                          return within(x.dtype(), a.lo, a.hi);
                        },
                        [&](const Bitcast&) { return all_of(x.dtype()); },
                        [&](const std::shared_ptr<const Load>&) { return all_of(x.dtype()); },
                    },
                    x->kind);
}

Interval bounds_of(const Expr& x, const Ranges& ranges) { return Bounds(ranges)(x); }

}  // namespace byoc::te
