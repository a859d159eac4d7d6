// SPDX-License-Identifier: Apache-2.0
// Elementwise arithmetic of one input. Activations have their own file.
#include <cmath>

#include "byoc/op/registry.h"
#include "core/op/kernel/unary.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

// Computes integers in the unsigned type of the same width, so that they wrap around.
template <class T>
T negated(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(-static_cast<uint64_t>(x));
  else return -x;
}

template <class T>
T absolute(T x) {
  if constexpr (std::is_unsigned_v<T>) return x;
  else if constexpr (std::is_integral_v<T>) return x < 0 ? negated(x) : x;
  else return std::abs(x);
}

// Keeps NaN, which is neither above nor below 0.
template <class T>
T sign_of(T x) {
  if constexpr (std::is_unsigned_v<T>) return x > 0;
  else return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

auto is_inf_for(const Attrs& attrs) {
  bool negative = attrs.b("detect_negative", true), positive = attrs.b("detect_positive", true);
  return [=](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); };
}

Expr absolute_expr(Expr x) {
  bool is_signed = is_float(x.dtype()) || is_signed_int(x.dtype());
  return is_signed ? te::unary(UnaryOp::kAbs, x) : x;
}

Expr sign_expr(Expr x) {
  Expr one = like(x, 1), none = zero(x.dtype());
  if (!is_float(x.dtype()) && !is_signed_int(x.dtype())) return select(x > none, one, none);
  return select(x > none, one, select(x < none, like(x, -1), x));
}

ExprFn is_inf_expr(const Attrs& attrs) {
  bool negative = attrs.b("detect_negative", true), positive = attrs.b("detect_positive", true);
  return [=](Expr x) {
    Expr has_sign = select(x < zero(x.dtype()), te::int_constant(DType::kBool, negative),
                           te::int_constant(DType::kBool, positive));
    return te::unary(UnaryOp::kIsInf, x) && has_sign;
  };
}

OpDef identity() {
  OpDef op{.name = "identity", .doc = "y = x", .kind = FusionKind::kElementwise};
  op.inputs = {{"x", "any type"}};
  op.infer = [](Types inputs, const Attrs&) { return one_result(*inputs[0]); };
  op.reference = [](Types inputs, Types, const Attrs&) -> Result<RefKernel> {
    return copy_kernel(inputs[0]);
  };
  op.compute = with_open_sizes(move_compute("identity", [](Types, const TensorType&, const Attrs&) {
    return Result<IndexFn>([](const Exprs& i) { return i; });
  }));
  op.flops = [](Types, Types, const Attrs&) { return 0.0; };
  op.facts = {.is_view = true};
  return op;
}

void add_rounding(OpRegistry& ops) {
  constexpr FloatTypes kFloats;
  ops.add(unary(
      "floor", "y = the greatest integer <= x", kFloats, [](auto x) { return std::floor(x); },
      applied(UnaryOp::kFloor)));
  ops.add(unary(
      "ceil", "y = the least integer >= x", kFloats, [](auto x) { return std::ceil(x); },
      applied(UnaryOp::kCeil)));
  ops.add(unary(
      "round", "y = the integer nearest to x, halves to the even one", kFloats,
      [](auto x) { return std::nearbyint(x); }, applied(UnaryOp::kRound)));
  ops.add(unary(
      "abs", "y = |x|; integers wrap around", NumericTypes{}, [](auto x) { return absolute(x); },
      absolute_expr));
  ops.add(unary(
      "negative", "y = -x; integers wrap around", NumericTypes{}, [](auto x) { return negated(x); },
      applied(UnaryOp::kNegate)));
  ops.add(unary(
      "sign", "y = 1 for x > 0, -1 for x < 0, else x", NumericTypes{},
      [](auto x) { return sign_of(x); }, sign_expr));
}

void add_powers(OpRegistry& ops) {
  constexpr FloatTypes kFloats;
  ops.add(unary(
      "sqrt", "y = x^(1/2)", kFloats, [](auto x) { return std::sqrt(x); },
      applied(UnaryOp::kSqrt)));
  ops.add(unary(
      "rsqrt", "y = x^(-1/2)", kFloats, [](auto x) { return 1 / std::sqrt(x); },
      [](Expr x) { return like(x, 1) / te::unary(UnaryOp::kSqrt, x); }));
  ops.add(unary(
      "reciprocal", "y = 1 / x", kFloats, [](auto x) { return 1 / x; },
      [](Expr x) { return like(x, 1) / x; }));
  ops.add(unary(
      "exp", "y = e^x", kFloats, [](auto x) { return std::exp(x); }, applied(UnaryOp::kExp)));
  ops.add(unary(
      "log", "y = ln(x)", kFloats, [](auto x) { return std::log(x); }, applied(UnaryOp::kLog)));
  ops.add(unary(
      "erf", "y = 2 / sqrt(pi) * integral of e^(-t^2) for t from 0 to x", kFloats,
      [](auto x) { return std::erf(x); }, applied(UnaryOp::kErf)));
}

void add_trigonometry(OpRegistry& ops) {
  constexpr FloatTypes kFloats;
  ops.add(unary(
      "sin", "y = sin(x)", kFloats, [](auto x) { return std::sin(x); }, applied(UnaryOp::kSin)));
  ops.add(unary(
      "cos", "y = cos(x)", kFloats, [](auto x) { return std::cos(x); }, applied(UnaryOp::kCos)));
  ops.add(unary(
      "tan", "y = tan(x)", kFloats, [](auto x) { return std::tan(x); }, applied(UnaryOp::kTan)));
  ops.add(unary(
      "asin", "sin(y) = x, y in [-pi/2, pi/2]", kFloats, [](auto x) { return std::asin(x); },
      applied(UnaryOp::kAsin)));
  ops.add(unary(
      "acos", "cos(y) = x, y in [0, pi]", kFloats, [](auto x) { return std::acos(x); },
      applied(UnaryOp::kAcos)));
  ops.add(unary(
      "atan", "tan(y) = x, y in (-pi/2, pi/2)", kFloats, [](auto x) { return std::atan(x); },
      applied(UnaryOp::kAtan)));
  ops.add(unary(
      "sinh", "y = (e^x - e^-x) / 2", kFloats, [](auto x) { return std::sinh(x); },
      applied(UnaryOp::kSinh)));
  ops.add(unary(
      "cosh", "y = (e^x + e^-x) / 2", kFloats, [](auto x) { return std::cosh(x); },
      applied(UnaryOp::kCosh)));
  ops.add(unary(
      "tanh", "y = (e^x - e^-x) / (e^x + e^-x)", kFloats, [](auto x) { return std::tanh(x); },
      applied(UnaryOp::kTanh)));
  ops.add(unary(
      "asinh", "sinh(y) = x", kFloats, [](auto x) { return std::asinh(x); },
      applied(UnaryOp::kAsinh)));
  ops.add(unary(
      "acosh", "cosh(y) = x, y >= 0", kFloats, [](auto x) { return std::acosh(x); },
      applied(UnaryOp::kAcosh)));
  ops.add(unary(
      "atanh", "tanh(y) = x", kFloats, [](auto x) { return std::atanh(x); },
      applied(UnaryOp::kAtanh)));
}

void add_predicates(OpRegistry& ops) {
  ops.add(unary(
      "logical_not", "y = not x", BoolTypes{}, [](bool x) { return !x; }, applied(UnaryOp::kNot)));
  ops.add(unary(
      "bitwise_not", "y = ~x, every bit", IntTypes{}, [](auto x) { return ~x; },
      applied(UnaryOp::kBitwiseNot)));
  ops.add(predicate_with(
      "is_nan", "y = x is not a number", FloatTypes{}, {},
      [](const Attrs&) { return [](auto x) { return std::isnan(x); }; },
      always(applied(UnaryOp::kIsNan))));
  ops.add(predicate_with(
      "is_inf", "y = x is infinite, of a sign that the attributes name", FloatTypes{},
      {{"detect_negative", true, "-inf counts"}, {"detect_positive", true, "+inf counts"}},
      is_inf_for, is_inf_expr));
}

}  // namespace

void add_elementwise_ops(OpRegistry& ops) {
  ops.add(identity());
  add_rounding(ops);
  add_powers(ops);
  add_trigonometry(ops);
  add_predicates(ops);
}

}  // namespace byoc::op
