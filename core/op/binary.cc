// Elementwise ops of two inputs with numpy's broadcasting.
#include <cmath>

#include "core/op/binary.h"
#include "core/op/families.h"

namespace byoc::op {
namespace {

// Integers wrap around: computed as unsigned 64-bit numbers and cut to their own width.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <class T, class F>
T wrapped(T a, T b, F f) {
  return static_cast<T>(f(static_cast<Wrapping<T>>(a), static_cast<Wrapping<T>>(b)));
}

// Division by zero gives 0 for integers: the processor would stop the process.
template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a / b;
  else if (b == 0) return 0;
  else if (std::is_signed_v<T> && b == T(-1)) return wrapped(T(0), a, std::minus<>());
  else return static_cast<T>(a / b);
}

// NaN in either wins, as in numpy.
template <class T>
T least(T a, T b) {
  return a != a || a < b ? a : b;
}
template <class T>
T greatest(T a, T b) {
  return a != a || a > b ? a : b;
}

void add_arithmetic(OpRegistry& ops) {
  constexpr NumericTypes kNumeric;
  ops.add(binary("add", "y = a + b; integers wrap around", kNumeric,
                 [](auto a, auto b) { return wrapped(a, b, std::plus<>()); }));
  ops.add(binary("subtract", "y = a - b; integers wrap around", kNumeric,
                 [](auto a, auto b) { return wrapped(a, b, std::minus<>()); }));
  ops.add(binary("multiply", "y = a b; integers wrap around", kNumeric,
                 [](auto a, auto b) { return wrapped(a, b, std::multiplies<>()); }));
  ops.add(binary("divide", "y = a / b; integers are cut towards 0, and a / 0 = 0", kNumeric,
                 [](auto a, auto b) { return quotient(a, b); }));
  ops.add(binary("minimum", "y = min(a, b); NaN in either gives NaN", kNumeric,
                 [](auto a, auto b) { return least(a, b); }));
  ops.add(binary("maximum", "y = max(a, b); NaN in either gives NaN", kNumeric,
                 [](auto a, auto b) { return greatest(a, b); }));
}

void add_comparisons(OpRegistry& ops) {
  constexpr NumericTypes kNumeric;
  constexpr AllTypes kAll;
  ops.add(comparison("equal", "y = a is equal to b", kAll, [](auto a, auto b) { return a == b; }));
  ops.add(comparison("not_equal", "y = a is not equal to b", kAll,
                     [](auto a, auto b) { return a != b; }));
  ops.add(comparison("less", "y = a < b", kNumeric, [](auto a, auto b) { return a < b; }));
  ops.add(comparison("less_equal", "y = a <= b", kNumeric, [](auto a, auto b) { return a <= b; }));
  ops.add(comparison("greater", "y = a > b", kNumeric, [](auto a, auto b) { return a > b; }));
  ops.add(
      comparison("greater_equal", "y = a >= b", kNumeric, [](auto a, auto b) { return a >= b; }));
}

void add_logic(OpRegistry& ops) {
  constexpr IntTypes kInts;
  constexpr BoolTypes kBool;
  ops.add(binary("logical_and", "y = a and b", kBool, [](bool a, bool b) { return a && b; }));
  ops.add(binary("logical_or", "y = a or b", kBool, [](bool a, bool b) { return a || b; }));
  ops.add(binary("logical_xor", "y = either a or b", kBool, [](bool a, bool b) { return a != b; }));
  ops.add(
      binary("bitwise_and", "y = a & b, every bit", kInts, [](auto a, auto b) { return a & b; }));
  ops.add(
      binary("bitwise_or", "y = a | b, every bit", kInts, [](auto a, auto b) { return a | b; }));
  ops.add(
      binary("bitwise_xor", "y = a ^ b, every bit", kInts, [](auto a, auto b) { return a ^ b; }));
}

}  // namespace

void add_binary_ops(OpRegistry& ops) {
  add_arithmetic(ops);
  add_comparisons(ops);
  add_logic(ops);
}

}  // namespace byoc::op
