// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic on f32 or f64, scalars or vectors, for functions without branches.
#include <cstdint>
#include <limits>

#include "llvm/IR/IRBuilder.h"
#include "plugins/llvm/values/types.h"

namespace byoc::llvm_plugin {

/// ln(2) for f32: 9 bits, so that products with small whole numbers are exact, and the rest.
inline constexpr double kLn2High = 0x1.63p-1, kLn2Low = -2.12194440054690583e-4;

/// Plain arithmetic on floats; a product and a sum may be fused.
class Floats {
 public:
  using Value = llvm::Value*;
  /// Computes with values of the type of `shape`, f32 or f64.
  Floats(llvm::IRBuilder<>& b, Value shape)
      : b(b),
        is_f64_(shape->getType()->getScalarType()->isDoubleTy()),
        type_(shape->getType()),
        bits_(like(shape, is_f64_ ? b.getInt64Ty() : b.getInt32Ty())) {}

  Value number(double x) { return llvm::ConstantFP::get(type_, x); }
  Value infinity() { return number(std::numeric_limits<double>::infinity()); }
  Value nan() { return number(std::numeric_limits<double>::quiet_NaN()); }
  Value integer(int64_t x) { return llvm::ConstantInt::get(bits_, static_cast<uint64_t>(x), true); }
  Value add(Value x, Value y) { return b.CreateFAdd(x, y); }
  Value subtract(Value x, Value y) { return b.CreateFSub(x, y); }
  Value mul(Value x, Value y) { return b.CreateFMul(x, y); }
  Value divide(Value x, Value y) { return b.CreateFDiv(x, y); }
  Value mul_add(Value x, Value y, Value z) {
    llvm::IRBuilder<>::FastMathFlagGuard guard(b);
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    b.setFastMathFlags(flags);
    return b.CreateFAdd(b.CreateFMul(x, y), z);
  }
  /// Returns x y + z, rounded once: in scalars as in vectors, also where the product is used twice.
  Value fused(Value x, Value y, Value z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {x, y, z});
  }
  /// Returns c[0] + x c[1] + x^2 c[2] + ...
  template <size_t n>
  Value polynomial(Value x, const double (&c)[n]) {
    Value out = number(c[n - 1]);
    for (size_t k = n - 1; k-- > 0;) out = mul_add(out, x, number(c[k]));
    return out;
  }
  Value abs(Value x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  Value sqrt(Value x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  Value with_sign_of(Value magnitude, Value x) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, x);
  }
  /// The same for a magnitude that is not negative.
  Value with_sign_bit_of(Value magnitude, Value x) {
    Value sign = b.CreateAnd(bits(x), integer(is_f64_ ? INT64_MIN : INT32_MIN));
    return float_of_bits(b.CreateOr(bits(magnitude), sign));
  }
  Value bits(Value x) { return b.CreateBitCast(x, bits_); }
  Value float_of_bits(Value x) { return b.CreateBitCast(x, type_); }
  Value select(Value condition, Value yes, Value no) { return b.CreateSelect(condition, yes, no); }
  /// Returns x within [low, high], and a NaN as it is.
  Value clamp(Value x, double low, double high) {
    x = select(b.CreateFCmpOGT(number(low), x), number(low), x);
    return select(b.CreateFCmpOLT(number(high), x), number(high), x);
  }
  /// Returns 2^n of an integer n within the range of exponents of normal numbers.
  Value power_of_two(Value n) {
    return float_of_bits(b.CreateShl(b.CreateAdd(n, integer(is_f64_ ? 1023 : 127)), mantissa()));
  }
  /// The number of bits of a float below its exponent.
  uint64_t mantissa() const { return is_f64_ ? 52 : 23; }

  /// A whole number, as a float and as an integer.
  struct Whole {
    Value real, integer;
  };
  /// Rounds x y to a whole number of less than half the bits of the mantissa: 1.5 * 2^mantissa
  /// pushes the fraction out of the float.
  Whole rounded_product(Value x, Value y) {
    Value magic = number(is_f64_ ? 0x1.8p52 : 0x1.8p23);
    Value pushed = mul_add(x, y, magic);
    return {subtract(pushed, magic), b.CreateSub(bits(pushed), bits(magic))};
  }

  llvm::IRBuilder<>& b;

 private:
  bool is_f64_;
  llvm::Type *type_, *bits_;
};

}  // namespace byoc::llvm_plugin
