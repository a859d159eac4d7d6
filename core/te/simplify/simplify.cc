// SPDX-License-Identifier: Apache-2.0
// Applies rewrite rules, from the operands upwards.
#include "byoc/te/simplify.h"

#include <cmath>

#include "byoc/te/rewrite.h"
#include "core/te/number.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {
namespace {

std::optional<Number> number_of(const Expr& x) {
  if (const IntImm* v = std::get_if<IntImm>(&x->kind)) return int_number(v->value);
  if (const FloatImm* v = std::get_if<FloatImm>(&x->kind)) return float_number(v->value);
  return std::nullopt;
}

Expr constant_of(DType dtype, Number value) {
  return is_float(dtype) ? constant(dtype, value.f) : int_constant(dtype, value.i);
}

bool is_constant(const Expr& x, double value) {
  const FloatImm* v = std::get_if<FloatImm>(&x->kind);
  return v != nullptr && v->value == value && std::signbit(v->value) == std::signbit(value);
}

// Returns true for functions that every correct implementation computes alike.
bool is_exact(UnaryOp op) {
  return op <= UnaryOp::kSqrt || op == UnaryOp::kFloor || op == UnaryOp::kCeil ||
         op == UnaryOp::kTrunc || op == UnaryOp::kRound || op == UnaryOp::kIsNan ||
         op == UnaryOp::kIsInf;
}

}  // namespace

Expr Simplifier::operator()(const Expr& x) {
  auto known = done_.find(&*x);
  if (known != done_.end()) return known->second.second;
  Expr result = intern(rules(intern(map_operands(x, *this))));
  if (!is_float(result.dtype()) && !as_int(result)) {
    const Interval range = bounds_(result);
    if (range.lo == range.hi) result = intern(int_constant(result.dtype(), range.lo));
  }
  done_.emplace(&*x, std::pair(x, result));
  done_.emplace(&*result, std::pair(result, result));
  return result;
}

Expr Simplifier::rules(const Expr& x) {
  return std::visit(
      overloaded{
          [&](const Unary& v) { return unary_rules(x, v); },
          [&](const Binary& v) { return binary_rules(x, v); },
          [&](const Select& v) { return select_rules(x, v); },
          [&](const Cast& v) { return cast_rules(x, v); },
          [&](const Bitcast& v) {
            std::optional<Number> value = number_of(v.x);
            return value ? constant_of(x.dtype(), bits_as(x.dtype(), v.x.dtype(), *value)) : x;
          },
          [&](const auto&) { return x; },  // constants, variables, loads
      },
      x->kind);
}

Expr Simplifier::unary_rules(const Expr& x, const Unary& v) {
  const DType from = v.x.dtype();
  if (std::optional<Number> value = number_of(v.x); value && is_exact(v.op))
    return constant_of(x.dtype(), apply(v.op, from, *value));
  if (v.op == UnaryOp::kNegate && is_int(from)) return sum(x);
  const bool undoes_itself =
      v.op == UnaryOp::kNegate || v.op == UnaryOp::kNot || v.op == UnaryOp::kBitwiseNot;
  const Unary* inner = std::get_if<Unary>(&v.x->kind);
  if (undoes_itself && inner != nullptr && inner->op == v.op) return inner->x;
  if (v.op == UnaryOp::kAbs && is_int(from) && bounds_(v.x).lo >= 0) return v.x;
  return x;
}

Expr Simplifier::binary_rules(const Expr& x, const Binary& v) {
  const DType dtype = v.a.dtype();
  std::optional<Number> a = number_of(v.a), b = number_of(v.b);
  const bool is_correctly_rounded = v.op != BinaryOp::kPower;
  if (a && b && is_correctly_rounded) {
    std::optional<Number> value = apply(v.op, dtype, *a, *b);
    return value ? constant_of(x.dtype(), *value) : x;
  }
  return is_float(dtype) ? float_rules(x, v) : int_rules(x, v);
}

Expr Simplifier::float_rules(const Expr& x, const Binary& v) {
  switch (v.op) {
    case BinaryOp::kAdd:  // not x + 0: that of -0 is +0
      return is_constant(v.b, -0.0) ? v.a : is_constant(v.a, -0.0) ? v.b : x;
    case BinaryOp::kSubtract:
      return is_constant(v.b, 0) ? v.a : x;
    case BinaryOp::kMultiply:
      return is_constant(v.b, 1) ? v.a : is_constant(v.a, 1) ? v.b : x;
    case BinaryOp::kDivide:
      return is_constant(v.b, 1) ? v.a : x;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return v.a.same_as(v.b) ? v.a : x;
    default:
      return x;
  }
}

Expr Simplifier::int_rules(const Expr& x, const Binary& v) {
  const Constant b = as_int(v.b);
  switch (v.op) {
    case BinaryOp::kMultiply:
      if (std::optional<Expr> product = open_product(v.a, v.b)) return *product;
      return sum(x);
    case BinaryOp::kAdd:
    case BinaryOp::kSubtract:
      return sum(x);
    case BinaryOp::kDivide:
      return b == 1 ? v.a : x;
    case BinaryOp::kFloorDivide:
    case BinaryOp::kFloorModulo:
      if (!b) return open_division(v).value_or(x);
      if (*b <= 0) return x;
      return divide(x, v.a, *b, v.op == BinaryOp::kFloorModulo);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return min_max(x, v);
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
      return b == 0 ? v.a : x;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      return logic(x, v);
    case BinaryOp::kRemainder:
    case BinaryOp::kPower:
      return x;
    default:
      break;
  }
  std::optional<bool> truth = decide(v.op, v.a, v.b);
  return truth ? int_constant(DType::kBool, *truth) : x;
}

Expr Simplifier::select_rules(const Expr& x, const Select& v) {
  const Interval condition = bounds_(v.condition);
  if (condition.lo == 1) return v.yes;
  if (condition.hi == 0) return v.no;
  if (v.yes.same_as(v.no)) return v.yes;
  const Unary* negation = std::get_if<Unary>(&v.condition->kind);
  if (negation != nullptr && negation->op == UnaryOp::kNot) return select(negation->x, v.no, v.yes);
  return x;
}

Expr Simplifier::cast_rules(const Expr& x, const Cast& v) {
  const DType to = x.dtype(), from = v.x.dtype();
  if (std::optional<Number> value = number_of(v.x)) {
    std::optional<Number> result = converted(to, from, *value);
    return result ? constant_of(to, *result) : x;
  }
  const Cast* inner = std::get_if<Cast>(&v.x->kind);
  if (inner == nullptr || !is_int(from) || !is_int(inner->x.dtype())) return x;
  const Interval value = bounds_(inner->x);
  const bool keeps_value = from != DType::kU64 && inner->x.dtype() != DType::kU64 &&
                           within(from, value.lo, value.hi) == value;
  return keeps_value ? cast(to, inner->x) : x;
}

Expr simplify(const Expr& x, const Ranges& ranges) { return Simplifier(ranges)(x); }

}  // namespace byoc::te
