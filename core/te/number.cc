// SPDX-License-Identifier: Apache-2.0
#include "core/te/number.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "byoc/base/check.h"

namespace byoc::te {
namespace {

// Rounds to `precision` significant bits, exponents from `least` to 1 - least.
double rounded_to(double x, int precision, int least) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = std::max(std::ilogb(x), least);
  double quantum = std::ldexp(1.0, exponent - (precision - 1));
  double result = std::nearbyint(x / quantum) * quantum;
  bool is_beyond = std::fabs(result) >= std::ldexp(1.0, 2 - least);
  return is_beyond ? std::copysign(std::numeric_limits<double>::infinity(), x) : result;
}

uint16_t bits_of_f16(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (std::isnan(x)) return sign | 0x7e00;
  if (std::isinf(x)) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | static_cast<uint16_t>(size * 0x1p24);
  const int exponent = std::ilogb(size);
  const double fraction = std::ldexp(size, -exponent) - 1;
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | static_cast<int>(fraction * 1024));
}

double value_of_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 0    ? fraction * 0x1p-24
                : exponent == 31 ? (fraction ? std::numeric_limits<double>::quiet_NaN()
                                             : std::numeric_limits<double>::infinity())
                                 : std::ldexp(1 + fraction / 1024.0, exponent - 15);
  return bits & 0x8000 ? -size : size;
}

uint16_t bits_of_bf16(double x) {
  const float narrow = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  return std::isnan(x) ? static_cast<uint16_t>(bits >> 16 | 0x40)
                       : static_cast<uint16_t>(bits >> 16);
}

double value_of_bf16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

template <class T>
T read_as(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write_as(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

double apply_to_float(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNegate:
      return -x;
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kErf:
      return std::erf(x);
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kSin:
      return std::sin(x);
    case UnaryOp::kCos:
      return std::cos(x);
    case UnaryOp::kTan:
      return std::tan(x);
    case UnaryOp::kAsin:
      return std::asin(x);
    case UnaryOp::kAcos:
      return std::acos(x);
    case UnaryOp::kAtan:
      return std::atan(x);
    case UnaryOp::kSinh:
      return std::sinh(x);
    case UnaryOp::kCosh:
      return std::cosh(x);
    case UnaryOp::kAsinh:
      return std::asinh(x);
    case UnaryOp::kAcosh:
      return std::acosh(x);
    case UnaryOp::kAtanh:
      return std::atanh(x);
    case UnaryOp::kFloor:
      return std::floor(x);
    case UnaryOp::kCeil:
      return std::ceil(x);
    case UnaryOp::kTrunc:
      return std::trunc(x);
    case UnaryOp::kRound:
      return std::nearbyint(x);
    default:
      BYOC_CHECK(false, "unary op ", static_cast<int>(op), " of a float");
  }
}

std::optional<Number> apply_to_floats(BinaryOp op, DType dtype, double a, double b) {
  auto number = [&](double x) { return float_number(rounded(dtype, x)); };
  switch (op) {
    case BinaryOp::kAdd:
      return number(a + b);
    case BinaryOp::kSubtract:
      return number(a - b);
    case BinaryOp::kMultiply:
      return number(a * b);
    case BinaryOp::kDivide:
      return number(a / b);
    case BinaryOp::kRemainder:
      return number(std::fmod(a, b));
    case BinaryOp::kMin:
      return number(a < b ? a : b);
    case BinaryOp::kMax:
      return number(a > b ? a : b);
    case BinaryOp::kPower:
      return number(std::pow(a, b));
    case BinaryOp::kEqual:
      return int_number(a == b);
    case BinaryOp::kNotEqual:
      return int_number(a != b);
    case BinaryOp::kLess:
      return int_number(a < b);
    case BinaryOp::kLessEqual:
      return int_number(a <= b);
    default:
      BYOC_CHECK(false, "binary op ", static_cast<int>(op), " of floats");
  }
}

// Computes the operations that depend on the sign: T is int64_t, or uint64_t for unsigned types.
template <class T>
std::optional<T> divided(BinaryOp op, T a, T b) {
  if (b == 0) return std::nullopt;
  const bool is_minus_one = std::is_signed_v<T> && b == static_cast<T>(-1);
  if (is_minus_one)  // the least value / -1 wraps around
    return op == BinaryOp::kDivide || op == BinaryOp::kFloorDivide
               ? static_cast<T>(0 - static_cast<uint64_t>(a))
               : T{0};
  const T quotient = a / b, remainder = a % b;
  const bool is_below = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == BinaryOp::kDivide) return quotient;
  if (op == BinaryOp::kRemainder) return remainder;
  if (op == BinaryOp::kFloorDivide) return quotient - (is_below ? 1 : 0);
  return is_below ? remainder + b : remainder;
}

template <class T>
std::optional<T> apply_signed(BinaryOp op, int bits, T a, T b) {
  switch (op) {
    case BinaryOp::kMin:
      return a < b ? a : b;
    case BinaryOp::kMax:
      return a > b ? a : b;
    case BinaryOp::kLess:
      return a < b;
    case BinaryOp::kLessEqual:
      return a <= b;
    case BinaryOp::kShiftLeft:
      if (b < 0 || b >= static_cast<T>(bits)) return std::nullopt;
      return static_cast<T>(static_cast<uint64_t>(a) << b);
    case BinaryOp::kShiftRight:
      if (b < 0 || b >= static_cast<T>(bits)) return std::nullopt;
      return a >> b;
    default:
      return divided(op, a, b);
  }
}

std::optional<int64_t> apply_to_ints(BinaryOp op, DType dtype, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kAdd:
      return x + y;
    case BinaryOp::kSubtract:
      return x - y;
    case BinaryOp::kMultiply:
      return x * y;
    case BinaryOp::kAnd:
      return a & b;
    case BinaryOp::kOr:
      return a | b;
    case BinaryOp::kXor:
      return a ^ b;
    case BinaryOp::kEqual:
      return a == b;
    case BinaryOp::kNotEqual:
      return a != b;
    default:
      break;
  }
  const int bits = static_cast<int>(8 * dtype_size(dtype));
  if (is_signed_int(dtype)) return apply_signed<int64_t>(op, bits, a, b);
  return apply_signed<uint64_t>(op, bits, x, y);
}

// Returns true within the range of an integer type: 2^bits values from `least` on, as doubles.
bool is_within(DType to, double x) {
  const int bits = static_cast<int>(8 * dtype_size(to));
  if (!is_signed_int(to)) return x > -1 && x < std::ldexp(1.0, bits);
  return x > -std::ldexp(1.0, bits - 1) - 1 && x >= -std::ldexp(1.0, 63) &&
         x < std::ldexp(1.0, bits - 1);
}

}  // namespace

double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<float>(value);
    case DType::kF16:
      return rounded_to(value, 11, -14);
    case DType::kBF16:
      return rounded_to(value, 8, -126);
    default:
      return value;
  }
}

int64_t wrapped(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0;
  const int unused = 64 - static_cast<int>(8 * dtype_size(dtype));
  const uint64_t top = static_cast<uint64_t>(value) << unused;
  return is_signed_int(dtype) ? static_cast<int64_t>(top) >> unused
                              : static_cast<int64_t>(top >> unused);
}

Number read_number(DType dtype, const void* at) {
  switch (dtype) {
    case DType::kF32:
      return float_number(read_as<float>(at));
    case DType::kF64:
      return float_number(read_as<double>(at));
    case DType::kF16:
      return float_number(value_of_f16(read_as<uint16_t>(at)));
    case DType::kBF16:
      return float_number(value_of_bf16(read_as<uint16_t>(at)));
    case DType::kI8:
      return int_number(read_as<int8_t>(at));
    case DType::kI16:
      return int_number(read_as<int16_t>(at));
    case DType::kI32:
      return int_number(read_as<int32_t>(at));
    case DType::kU8:
      return int_number(read_as<uint8_t>(at));
    case DType::kU16:
      return int_number(read_as<uint16_t>(at));
    case DType::kU32:
      return int_number(read_as<uint32_t>(at));
    case DType::kI64:
    case DType::kU64:
      return int_number(read_as<int64_t>(at));
    case DType::kBool:
      return int_number(read_as<uint8_t>(at) != 0);
  }
  BYOC_CHECK(false, "dtype ", static_cast<int>(dtype));
}

void write_number(DType dtype, void* at, Number value) {
  switch (dtype) {
    case DType::kF32:
      return write_as(at, static_cast<float>(value.f));
    case DType::kF64:
      return write_as(at, value.f);
    case DType::kF16:
      return write_as(at, bits_of_f16(value.f));
    case DType::kBF16:
      return write_as(at, bits_of_bf16(value.f));
    default:
      break;
  }
  std::memcpy(at, &value.i, dtype_size(dtype));  // little-endian, as all hosts of byoc
}

Number apply(UnaryOp op, DType dtype, Number x) {
  if (op == UnaryOp::kIsNan) return int_number(std::isnan(x.f));
  if (op == UnaryOp::kIsInf) return int_number(std::isinf(x.f));
  if (is_float(dtype)) return float_number(rounded(dtype, apply_to_float(op, x.f)));
  const auto bits = static_cast<uint64_t>(x.i);
  switch (op) {
    case UnaryOp::kNot:
      return int_number(!x.i);
    case UnaryOp::kBitwiseNot:
      return int_number(wrapped(dtype, ~x.i));
    case UnaryOp::kNegate:
      return int_number(wrapped(dtype, static_cast<int64_t>(0 - bits)));
    case UnaryOp::kAbs: {
      bool is_negative = is_signed_int(dtype) && x.i < 0;
      return int_number(is_negative ? wrapped(dtype, static_cast<int64_t>(0 - bits)) : x.i);
    }
    default:
      BYOC_CHECK(false, "unary op ", static_cast<int>(op), " of ", dtype);
  }
}

std::optional<Number> apply(BinaryOp op, DType dtype, Number a, Number b) {
  if (is_float(dtype)) return apply_to_floats(op, dtype, a.f, b.f);
  std::optional<int64_t> result = apply_to_ints(op, dtype, a.i, b.i);
  if (!result) return std::nullopt;
  return int_number(op >= BinaryOp::kEqual ? *result : wrapped(dtype, *result));
}

std::optional<Number> converted(DType to, DType from, Number x) {
  if (is_float(from)) {
    if (is_float(to)) return float_number(rounded(to, x.f));
    if (to == DType::kBool) return int_number(x.f != 0);
    if (!is_within(to, x.f)) return std::nullopt;
    return int_number(to == DType::kU64 ? static_cast<int64_t>(static_cast<uint64_t>(x.f))
                                        : static_cast<int64_t>(x.f));
  }
  if (!is_float(to)) return int_number(wrapped(to, x.i));
  if (to == DType::kF32)  // one rounding: 64 bits do not fit a double
    return float_number(from == DType::kU64 ? static_cast<float>(static_cast<uint64_t>(x.i))
                                            : static_cast<float>(x.i));
  const bool is_unsigned = from == DType::kU64;
  const double wide =
      is_unsigned ? static_cast<double>(static_cast<uint64_t>(x.i)) : static_cast<double>(x.i);
  return float_number(rounded(to, wide));
}

Number bits_as(DType to, DType from, Number x) {
  alignas(8) char bytes[8] = {};
  write_number(from, bytes, x);
  return read_number(to, bytes);
}

}  // namespace byoc::te
