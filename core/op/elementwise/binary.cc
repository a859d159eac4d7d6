// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of two inputs with numpy's broadcasting.
#include <cmath>

#include "byoc/op/registry.h"
#include "core/op/kernel/binary.h"

namespace byoc::op {
namespace {

using te::BinaryOp;

// The type to compute in. Integers are computed as unsigned 64-bit numbers and cut to their own
// width, so that they wrap around.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <class T, class F>
T wrapped(T a, T b, F f) {
  return static_cast<T>(f(static_cast<Wrapping<T>>(a), static_cast<Wrapping<T>>(b)));
}

// Returns 0 for integer division by zero, because the processor would stop the process.
template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a / b;
  else if (b == 0) return 0;
  else if (std::is_signed_v<T> && b == T(-1)) return wrapped(T(0), a, std::minus<>());
  else return static_cast<T>(a / b);
}

// Returns NaN when either is NaN, as numpy does.
template <class T>
T least(T a, T b) {
  return a != a || a < b ? a : b;
}
template <class T>
T greatest(T a, T b) {
  return a != a || a > b ? a : b;
}

// Returns the remainder with the sign of the divisor, as in Python; x mod 0 = 0 for integers.
template <class T>
T modulo(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
    T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
}

// Returns the remainder with the sign of the dividend, as in C.
template <class T>
T remainder_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
  else if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
  else return static_cast<T>(a % b);
}

// Returns a divisor that is safe to divide by. The cases 0 and -1 are selected separately.
Expr safe_divisor(const Expr& b) {
  Expr bad = b == zero(b.dtype());
  if (is_signed_int(b.dtype())) bad = bad || b == like(b, -1);
  return select(bad, like(b, 1), b);
}

Expr quotient_expr(Expr a, Expr b) {
  if (is_float(a.dtype())) return a / b;
  Expr none = zero(a.dtype()), y = a / safe_divisor(b);
  if (is_signed_int(b.dtype())) y = select(b == like(b, -1), none - a, y);
  return select(b == none, none, y);
}

// Returns the remainder; for integers it is 0 for a / 0 and for a / -1.
Expr remainder_expr(Expr a, Expr b) {
  if (is_float(a.dtype())) return te::binary(BinaryOp::kRemainder, a, b);
  Expr rest = te::binary(BinaryOp::kRemainder, a, safe_divisor(b));
  return select(b == zero(b.dtype()), zero(a.dtype()), rest);
}

Expr modulo_expr(Expr a, Expr b) {
  Expr rest = remainder_expr(a, b), none = zero(a.dtype());
  bool has_signs = is_float(a.dtype()) || is_signed_int(a.dtype());
  if (!has_signs) return rest;
  Expr differs = (rest < none) != (b < none);
  return select(rest != none && differs, rest + b, rest);
}

Expr greatest_expr(Expr a, Expr b) {
  return is_float(a.dtype()) ? select(is_nan(a), a, max(a, b)) : max(a, b);
}
Expr least_expr(Expr a, Expr b) {
  return is_float(a.dtype()) ? select(is_nan(a), a, min(a, b)) : min(a, b);
}

Expr prelu_expr(Expr x, Expr slope) {
  bool has_signs = is_float(x.dtype()) || is_signed_int(x.dtype());
  return has_signs ? select(x < zero(x.dtype()), x * slope, x) : x;
}

// Returns true when b is a number of bits that a has.
Expr is_shift(const Expr& b) {
  Expr bits = like(b, static_cast<double>(8 * dtype_size(b.dtype())));
  return is_signed_int(b.dtype()) ? zero(b.dtype()) <= b && b < bits : b < bits;
}

ExprFn2 bit_shift_expr(const Attrs& attrs) {
  BinaryOp op = attrs.s("direction") == "left" ? BinaryOp::kShiftLeft : BinaryOp::kShiftRight;
  return [op](Expr a, Expr b) {
    Expr none = zero(a.dtype()), beyond = none;
    if (op == BinaryOp::kShiftRight && is_signed_int(a.dtype()))
      beyond = select(a < none, like(a, -1), none);
    return select(is_shift(b), te::binary(op, a, select(is_shift(b), b, none)), beyond);
  };
}

auto mod(const Attrs& attrs) {
  return [like_c = attrs.b("fmod", false)](auto a, auto b) {
    return like_c ? remainder_of(a, b) : modulo(a, b);
  };
}

auto bit_shift(const Attrs& attrs) {
  return [left = attrs.s("direction") == "left"](auto a, auto b) {
    using T = decltype(a);
    using Bits = std::make_unsigned_t<T>;
    if (b < T(0) || static_cast<Bits>(b) >= sizeof(T) * 8) {  // undefined in C
      return left || a >= T(0) ? T(0) : static_cast<T>(-1);
    }
    if (left) return static_cast<T>(static_cast<uint64_t>(static_cast<Bits>(a)) << b);
    return static_cast<T>(a >> b);
  };
}

OpDef bit_shift_op() {
  OpDef op =
      binary_with("bit_shift",
                  "y = a shifted by b bits; to the right by copies of the sign. Where a has no b "
                  "bits, only the copies are left, or 0",
                  IntTypes{}, {{"direction", "left", "\"left\" or \"right\"", AttrSpec::kRequired}},
                  bit_shift, bit_shift_expr);
  op.infer = [same = op.infer](Types inputs,
                               const Attrs& attrs) -> Result<std::vector<TensorType>> {
    std::string way = attrs.s("direction");
    if (way != "left" && way != "right")
      return invalid(cat("bit_shift: direction is \"", way, "\", expects \"left\" or \"right\""));
    return same(inputs, attrs);
  };
  return op;
}

OpDef prelu_op() {
  OpDef op = binary(
      "prelu", "y = x for x >= 0, else slope x", NumericTypes{},
      [](auto x, auto slope) { return x < 0 ? wrapped(x, slope, std::multiplies<>()) : x; },
      prelu_expr);
  op.inputs = {{"x", op.inputs[0].doc}, {"slope", "dtype of x, broadcasts to its shape"}};
  op.infer = [same = op.infer](Types inputs,
                               const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY(auto types, same(inputs, attrs));
    if (types[0].shape != inputs[0]->shape)
      return invalid(cat("prelu: slope ", inputs[1], " does not broadcast to the shape of x ",
                         inputs[0]))
          .with_slug("op-shape");
    return types;
  };
  return op;
}

void add_arithmetic(OpRegistry& ops) {
  constexpr NumericTypes kNumeric;
  ops.add(with_facts(
      binary(
          "add", "y = a + b; integers wrap around", kNumeric,
          [](auto a, auto b) { return wrapped(a, b, std::plus<>()); }, applied(BinaryOp::kAdd)),
      {.family = OpFamily::kSum, .is_commutative = true}));
  ops.add(with_facts(binary(
                         "subtract", "y = a - b; integers wrap around", kNumeric,
                         [](auto a, auto b) { return wrapped(a, b, std::minus<>()); },
                         applied(BinaryOp::kSubtract)),
                     {.family = OpFamily::kSum, .is_inverse = true}));
  ops.add(with_facts(binary(
                         "multiply", "y = a b; integers wrap around", kNumeric,
                         [](auto a, auto b) { return wrapped(a, b, std::multiplies<>()); },
                         applied(BinaryOp::kMultiply)),
                     {.family = OpFamily::kScale, .is_commutative = true}));
  ops.add(with_facts(binary(
                         "divide", "y = a / b; integers are cut towards 0, and a / 0 = 0", kNumeric,
                         [](auto a, auto b) { return quotient(a, b); }, quotient_expr),
                     {.family = OpFamily::kScale, .is_inverse = true}));
  ops.add(with_facts(binary(
                         "minimum", "y = min(a, b); NaN in either gives NaN", kNumeric,
                         [](auto a, auto b) { return least(a, b); }, least_expr),
                     {.is_commutative = true}));
  ops.add(with_facts(binary(
                         "maximum", "y = max(a, b); NaN in either gives NaN", kNumeric,
                         [](auto a, auto b) { return greatest(a, b); }, greatest_expr),
                     {.is_commutative = true}));
}

void add_comparisons(OpRegistry& ops) {
  constexpr NumericTypes kNumeric;
  constexpr AllTypes kAll;
  ops.add(with_facts(comparison(
                         "equal", "y = a is equal to b", kAll,
                         [](auto a, auto b) { return a == b; }, applied(BinaryOp::kEqual)),
                     {.is_commutative = true}));
  ops.add(comparison(
      "not_equal", "y = a is not equal to b", kAll, [](auto a, auto b) { return a != b; },
      applied(BinaryOp::kNotEqual)));
  ops.add(comparison(
      "less", "y = a < b", kNumeric, [](auto a, auto b) { return a < b; },
      applied(BinaryOp::kLess)));
  ops.add(comparison(
      "less_equal", "y = a <= b", kNumeric, [](auto a, auto b) { return a <= b; },
      applied(BinaryOp::kLessEqual)));
  ops.add(comparison(
      "greater", "y = a > b", kNumeric, [](auto a, auto b) { return a > b; },
      [](Expr a, Expr b) { return a > b; }));
  ops.add(comparison(
      "greater_equal", "y = a >= b", kNumeric, [](auto a, auto b) { return a >= b; },
      [](Expr a, Expr b) { return a >= b; }));
}

void add_logic(OpRegistry& ops) {
  constexpr IntTypes kInts;
  constexpr BoolTypes kBool;
  ops.add(binary(
      "logical_and", "y = a and b", kBool, [](bool a, bool b) { return a && b; },
      applied(BinaryOp::kAnd)));
  ops.add(binary(
      "logical_or", "y = a or b", kBool, [](bool a, bool b) { return a || b; },
      applied(BinaryOp::kOr)));
  ops.add(binary(
      "logical_xor", "y = either a or b", kBool, [](bool a, bool b) { return a != b; },
      applied(BinaryOp::kXor)));
  ops.add(binary(
      "bitwise_and", "y = a & b, every bit", kInts, [](auto a, auto b) { return a & b; },
      applied(BinaryOp::kAnd)));
  ops.add(binary(
      "bitwise_or", "y = a | b, every bit", kInts, [](auto a, auto b) { return a | b; },
      applied(BinaryOp::kOr)));
  ops.add(binary(
      "bitwise_xor", "y = a ^ b, every bit", kInts, [](auto a, auto b) { return a ^ b; },
      applied(BinaryOp::kXor)));
}

}  // namespace

void add_binary_ops(OpRegistry& ops) {
  add_arithmetic(ops);
  add_comparisons(ops);
  add_logic(ops);
  ops.add(binary_with("mod", "y = the rest of a / b with the sign of b; 0 for integers where b = 0",
                      NumericTypes{}, {{"fmod", false, "the sign of a instead"}}, mod,
                      [](const Attrs& attrs) -> ExprFn2 {
                        return attrs.b("fmod", false) ? remainder_expr : modulo_expr;
                      }));
  ops.add(bit_shift_op());
  ops.add(prelu_op());
}

}  // namespace byoc::op
