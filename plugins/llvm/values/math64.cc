// SPDX-License-Identifier: Apache-2.0
// exp, log and tanh of f64, and functions of f32 that are computed in f64: there is room for
// rounding errors, so that short forms suffice. All are without branches, equal for scalars and
// vectors. Coefficients are those of Taylor series, except for atan and asin, which are minimax
// fits made for byoc.
#include "plugins/llvm/values/math64.h"
#include "byoc/base/check.h"
#include "plugins/llvm/values/floats.h"

namespace byoc::llvm_plugin {
namespace {

using te::UnaryOp;
using Value = llvm::Value*;

// The high parts end in zeros, so that products with small whole numbers are exact.
constexpr double kLn2High64 = 0x1.62e42feep-1, kLn2Low64 = 0x1.a39ef35793c76p-33;
constexpr double kHalfPiHigh = 0x1.921fb544p0, kHalfPiLow = 0x1.0b4611a626331p-34;
constexpr double kPi = 0x1.921fb54442d18p1;

// The terms of (e^r - 1 - r) / r^2 for |r| <= ln(2)/2: to the last place of f64, and to 2^-37.
constexpr double kExpTerms[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
constexpr double kShortExpTerms[] = {1.0 / 2,   1.0 / 6,    1.0 / 24,    1.0 / 120,
                                     1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
// The terms of (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2 <= 0.0295: likewise, and to 2^-34.
constexpr double kLogTerms[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
constexpr double kShortLogTerms[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11};

// e^x = (1 + tail) 2^power.
struct Exp {
  Value tail;
  Floats::Whole power;
};
template <size_t n>
Exp exp_parts(Floats& f, Value x, const double (&terms)[n]) {
  BYOC_CHECK(x->getType()->getScalarType()->isDoubleTy(), "these terms are of f64");
  Exp out;
  out.power = f.rounded_product(x, f.number(0x1.71547652b82fep0));
  Value r = f.mul_add(out.power.real, f.number(-kLn2High64), x);
  r = f.mul_add(out.power.real, f.number(-kLn2Low64), r);
  out.tail = f.mul_add(f.mul(r, r), f.polynomial(r, terms), r);
  return out;
}

// Returns e^x, for x up to 700 and 0 where it is below 2^-1000.
Value short_exp(Floats& f, Value x) {
  const Exp parts = exp_parts(f, f.clamp(x, -700, 700), kShortExpTerms);
  Value scale = f.power_of_two(parts.power.integer);
  return f.mul_add(parts.tail, scale, scale);
}

// Returns e^x - 1 for x of at most 700.
template <size_t n>
Value exp_minus_1(Floats& f, Value x, const double (&terms)[n]) {
  const Exp parts = exp_parts(f, x, terms);
  Value scale = f.power_of_two(parts.power.integer);
  return f.mul_add(parts.tail, scale, f.subtract(scale, f.number(1)));
}

// Computes log x = e ln 2 + log(1 + g) for x = 2^e (1 + g), 1 + g in [sqrt(1/2), sqrt(2)), with
// s = g / (2 + g): log(1 + g) = g - (g^2 / 2 - s (g^2 / 2 + s^2 P(s^2))). Source of that form:
// fdlibm. `x` is no subnormal number.
template <size_t n>
Value normal_log(Floats& f, Value x, const double (&terms)[n]) {
  auto& b = f.b;
  BYOC_CHECK(x->getType()->getScalarType()->isDoubleTy(), "the bits taken apart are of f64");
  constexpr int64_t kRoot = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2)
  Value from_root = b.CreateSub(f.bits(x), f.integer(kRoot));
  Value fraction = b.CreateAnd(from_root, f.integer((int64_t{1} << 52) - 1));
  Value magic = f.number(0x1.8p52);
  Value e = b.CreateAdd(b.CreateAShr(from_root, 52), f.bits(magic));
  Value power = f.subtract(f.float_of_bits(e), magic);
  Value g = f.subtract(f.float_of_bits(b.CreateAdd(fraction, f.integer(kRoot))), f.number(1));
  Value s = f.divide(g, f.add(g, f.number(2))), square = f.mul(s, s);
  Value half = f.mul(f.mul(g, f.number(0.5)), g);
  Value tail = f.mul_add(square, f.polynomial(square, terms), half);
  Value low = f.mul_add(s, tail, f.mul(power, f.number(kLn2Low64)));
  Value rest = f.subtract(f.subtract(half, low), g);
  return f.subtract(f.mul(power, f.number(kLn2High64)), rest);
}

// Returns `out`, or the logarithm of 0, infinity, a negative number or NaN.
Value with_special_logs(Floats& f, Value x, Value out) {
  auto& b = f.b;
  Value zero = f.number(0);
  out = f.select(b.CreateFCmpOEQ(x, f.infinity()), x, out);
  out = f.select(b.CreateFCmpOEQ(x, zero), b.CreateFNeg(f.infinity()), out);
  return f.select(b.CreateFCmpULT(x, zero), f.nan(), out);
}
Value short_log(Floats& f, Value x) {
  return with_special_logs(f, x, normal_log(f, x, kShortLogTerms));
}

// x = r + quadrant pi/2 with |r| <= pi/4.
struct Angle {
  Value r, quadrant;
};
Angle reduced(Floats& f, Value x) {
  const auto [n, quadrant] = f.rounded_product(x, f.number(2 / kPi));
  Value r = f.mul_add(n, f.number(-kHalfPiHigh), x);
  return {f.mul_add(n, f.number(-kHalfPiLow), r), quadrant};
}
Value sine(Floats& f, Value r) {
  constexpr double kTerms[] = {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800};
  return f.mul(r, f.polynomial(f.mul(r, r), kTerms));
}
Value cosine(Floats& f, Value r) {
  constexpr double kTerms[] = {1,           -1.0 / 2,       1.0 / 24,       -1.0 / 720,
                               1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
  return f.polynomial(f.mul(r, r), kTerms);
}
Value is_odd(Floats& f, Value n) {
  return f.b.CreateICmpNE(f.b.CreateAnd(n, f.integer(1)), f.integer(0));
}
// Returns the sine of r + quadrant pi/2.
Value sine_of(Floats& f, const Angle& x) {
  Value size = f.select(is_odd(f, x.quadrant), cosine(f, x.r), sine(f, x.r));
  Value sign = f.b.CreateShl(f.b.CreateAnd(x.quadrant, f.integer(2)), 62);
  return f.float_of_bits(f.b.CreateXor(f.bits(size), sign));
}
Value cosine_of(Floats& f, Angle x) {
  x.quadrant = f.b.CreateAdd(x.quadrant, f.integer(1));
  return sine_of(f, x);
}
Value tangent_of(Floats& f, const Angle& x) {
  Value odd = is_odd(f, x.quadrant), sin = sine(f, x.r), cos = cosine(f, x.r);
  return f.divide(f.select(odd, cos, sin), f.select(odd, f.b.CreateFNeg(sin), cos));
}

Value arc_tangent(Floats& f, Value x) {
  constexpr double kTerms[] = {0.9999999999887381,    -0.3333333295165722,  0.19999978336217084,
                               -0.1428522560816021,   0.11105306732424464,  -0.09049179093720577,
                               0.07495262378099696,   -0.06022196387937433, 0.04364658944281667,
                               -0.02600599597760862,  0.011427633277375594, -0.0031954252407363944,
                               0.00041922786011272897};
  Value a = f.abs(x), is_far = f.b.CreateFCmpOGT(a, f.number(1));
  Value t = f.select(is_far, f.divide(f.number(1), a), a);
  Value near = f.mul(t, f.polynomial(f.mul(t, t), kTerms));
  return f.with_sign_of(f.select(is_far, f.subtract(f.number(kPi / 2), near), near), x);
}

// Returns asin of 0 <= x <= 0.5.
Value small_arc_sine(Floats& f, Value x) {
  constexpr double kTerms[] = {1.000000000000825,   0.16666666613278705,   0.07500005655821883,
                               0.04464056469220037, 0.03042811901907943,   0.02185574259984348,
                               0.02068132717169167, 0.0019156113431105127, 0.03295759470084881};
  return f.mul(x, f.polynomial(f.mul(x, x), kTerms));
}
// Uses asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)) for |x| above 0.5; beyond 1 the root is NaN.
Value arc_sine_or_cosine(Floats& f, Value x, bool is_sine) {
  Value a = f.abs(x), is_far = f.b.CreateFCmpOGT(a, f.number(0.5));
  Value root = f.sqrt(f.mul(f.subtract(f.number(1), a), f.number(0.5)));
  Value arc = small_arc_sine(f, f.select(is_far, root, a));
  Value twice = f.add(arc, arc);
  if (is_sine)
    return f.with_sign_of(f.select(is_far, f.subtract(f.number(kPi / 2), twice), arc), x);
  Value is_negative = f.b.CreateFCmpOLT(x, f.number(0));
  Value far = f.select(is_negative, f.subtract(f.number(kPi), twice), twice);
  return f.select(is_far, far, f.subtract(f.number(kPi / 2), f.with_sign_of(arc, x)));
}

// Uses sinh x = (m + m / (m + 1)) / 2 with m = e^x - 1.
Value hyperbolic_sine(Floats& f, Value x) {
  Value m = exp_minus_1(f, f.clamp(f.abs(x), 0, 100), kShortExpTerms);
  Value sum = f.add(m, f.divide(m, f.add(m, f.number(1))));
  return f.with_sign_of(f.mul(sum, f.number(0.5)), x);
}
Value hyperbolic_cosine(Floats& f, Value x) {
  Value e = short_exp(f, f.abs(x));
  return f.mul(f.add(e, f.divide(f.number(1), e)), f.number(0.5));
}

// Returns a series near 0, where logarithms cancel, and `far` elsewhere.
template <size_t n>
Value odd_series(Floats& f, Value x, Value far, const double (&terms)[n]) {
  Value a = f.abs(x), near = f.mul(a, f.polynomial(f.mul(a, a), terms));
  return f.with_sign_of(f.select(f.b.CreateFCmpOLT(a, f.number(0x1p-6)), near, far), x);
}
Value area_hyperbolic_sine(Floats& f, Value x) {
  constexpr double kTerms[] = {1, -1.0 / 6, 3.0 / 40, -15.0 / 336};
  Value a = f.abs(x), root = f.sqrt(f.mul_add(a, a, f.number(1)));
  return odd_series(f, x, short_log(f, f.add(a, root)), kTerms);
}
Value area_hyperbolic_cosine(Floats& f, Value x) {
  Value root = f.mul(f.sqrt(f.subtract(x, f.number(1))), f.sqrt(f.add(x, f.number(1))));
  return short_log(f, f.add(x, root));  // below 1 the root is NaN
}
Value area_hyperbolic_tangent(Floats& f, Value x) {
  constexpr double kTerms[] = {1, 1.0 / 3, 1.0 / 5, 1.0 / 7};
  Value a = f.abs(x), one = f.number(1);
  Value log = short_log(f, f.divide(f.add(one, a), f.subtract(one, a)));
  return odd_series(f, x, f.mul(log, f.number(0.5)), kTerms);
}

Value in_f64(Floats& f, UnaryOp op, Value x) {
  switch (op) {
    case UnaryOp::kSin:
      return sine_of(f, reduced(f, x));
    case UnaryOp::kCos:
      return cosine_of(f, reduced(f, x));
    case UnaryOp::kTan:
      return tangent_of(f, reduced(f, x));
    case UnaryOp::kAsin:
    case UnaryOp::kAcos:
      return arc_sine_or_cosine(f, x, op == UnaryOp::kAsin);
    case UnaryOp::kAtan:
      return arc_tangent(f, x);
    case UnaryOp::kSinh:
      return hyperbolic_sine(f, x);
    case UnaryOp::kCosh:
      return hyperbolic_cosine(f, x);
    case UnaryOp::kAsinh:
      return area_hyperbolic_sine(f, x);
    case UnaryOp::kAcosh:
      return area_hyperbolic_cosine(f, x);
    case UnaryOp::kAtanh:
      return area_hyperbolic_tangent(f, x);
    default:
      BYOC_CHECK(false, "unary op ", static_cast<int>(op), " is not computed in f64");
  }
}

}  // namespace

// Multiplies by 2^n in two steps, so that results may be subnormal or infinite.
llvm::Value* emit_exp_f64(llvm::IRBuilder<>& b, llvm::Value* x) {
  Floats f(b, x);
  const Exp parts = exp_parts(f, f.clamp(x, -746, 710), kExpTerms);
  Value half = f.rounded_product(parts.power.real, f.number(0.5)).integer;
  Value scale = f.power_of_two(half);
  Value rest = f.power_of_two(b.CreateSub(parts.power.integer, half));
  return f.mul(f.mul_add(parts.tail, scale, scale), rest);
}

llvm::Value* emit_log_f64(llvm::IRBuilder<>& b, llvm::Value* x) {
  Floats f(b, x);
  Value is_tiny = b.CreateFCmpOLT(x, f.number(0x1p-1022));
  Value log = normal_log(f, f.select(is_tiny, f.mul(x, f.number(0x1p54)), x), kLogTerms);
  Value shift = f.select(is_tiny, f.number(54 * 0x1.62e42fefa39efp-1), f.number(0));
  return with_special_logs(f, x, f.subtract(log, shift));
}

// Uses m / (m + 2) with m = e^(2|x|) - 1.
llvm::Value* emit_tanh_f64(llvm::IRBuilder<>& b, llvm::Value* x) {
  Floats f(b, x);
  Value a = f.clamp(f.abs(x), 0, 22);
  Value m = exp_minus_1(f, f.add(a, a), kExpTerms);
  return f.with_sign_of(f.divide(m, f.add(m, f.number(2))), x);
}

llvm::Value* emit_in_f64(llvm::IRBuilder<>& b, UnaryOp op, llvm::Value* x) {
  Value wide = b.CreateFPExt(x, like(x, b.getDoubleTy()));
  Floats f(b, wide);
  return b.CreateFPTrunc(in_f64(f, op, wide), x->getType());
}

// Computes e^(y log |x|) and the sign; special cases are those of C's pow.
llvm::Value* emit_pow(llvm::IRBuilder<>& b, llvm::Value* x32, llvm::Value* y32) {
  BYOC_CHECK(x32->getType() == y32->getType(), "a power of ", lanes_of(x32), " lanes by ",
             lanes_of(y32));
  llvm::Type* type = like(x32, b.getDoubleTy());
  Value x = b.CreateFPExt(x32, type), y = b.CreateFPExt(y32, type);
  Floats f(b, x);
  Value size = f.abs(x), zero = f.number(0), one = f.number(1);
  auto floor = [&](Value v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v); };
  Value is_whole = b.CreateFCmpOEQ(floor(y), y), half = f.mul(y, f.number(0.5));
  Value is_odd_y = b.CreateAnd(is_whole, b.CreateFCmpUNE(floor(half), half));
  Value log = with_special_logs(f, size, normal_log(f, size, kLogTerms));
  Value exponent = f.mul(y, log);
  exponent = f.select(b.CreateFCmpOEQ(size, one), zero, exponent);  // also where y is infinite
  Value out = short_exp(f, exponent);
  out = f.select(is_odd_y, f.with_sign_of(out, x), out);
  Value is_finite_negative =
      b.CreateAnd(b.CreateFCmpOLT(x, zero), b.CreateFCmpUNE(size, f.infinity()));
  out = f.select(b.CreateAnd(is_finite_negative, b.CreateNot(is_whole)), f.nan(), out);
  Value is_one = b.CreateOr(b.CreateFCmpOEQ(y, zero), b.CreateFCmpOEQ(x, one));
  return b.CreateFPTrunc(f.select(is_one, one, out), x32->getType());
}

}  // namespace byoc::llvm_plugin
