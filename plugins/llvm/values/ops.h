// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic of tensor expressions as LLVM instructions, equal on scalars and on vectors.
#include "byoc/te/expr.h"
#include "plugins/llvm/machine/machine.h"
#include "plugins/llvm/values/types.h"

namespace byoc::llvm_plugin {

class Ops {
 public:
  using Value = llvm::Value*;
  /// `contract`: a product and a sum may become one fused multiply-add.
  Ops(llvm::IRBuilder<>& builder, const Machine& machine, bool contract);

  Value constant(DType dtype, double value);
  Value int_constant(DType dtype, int64_t value);
  /// Operands and result have the form of value_type; `dtype` is the operands'.
  Value unary(te::UnaryOp op, DType dtype, Value x);
  Value binary(te::BinaryOp op, DType dtype, Value a, Value b);
  /// Divides integers known to be at least 0, with b above 0.
  Value natural_division(te::BinaryOp op, Value a, Value b);
  Value cast(DType from, DType to, Value x);
  Value bitcast(DType from, DType to, Value x);
  Value from_storage(DType dtype, Value x);
  Value to_storage(DType dtype, Value x);
  /// Compares with b first, so that a NaN in either gives b, as minps and maxps do.
  Value min_or_max(bool is_min, Value a, Value b);
  /// Returns the greater or the lesser float, or a NaN where one of them is; of two zeros either.
  Value nan_or(bool is_max, Value a, Value b);
  Value splat(Value x, unsigned lanes);
  /// Adds to each lane of i32 the four products of its bytes: those of x unsigned, those of w
  /// signed. The sum is exact.
  Value add_dot(Value sum, Value x, Value w);
  /// Adds the same, but the sum of the first two products and that of the last two are saturated to
  /// i16. Returns null where the machine has no instruction for it.
  Value add_saturated_dot(Value sum, Value x, Value w);
  /// Adds to each lane of i32 the two products of its i16, all signed.
  Value add_pairs(Value sum, Value x, Value w);
  llvm::IRBuilder<>& builder() { return b_; }
  bool may_contract() const { return contract_; }

 private:
  Value fenced(Value sum);
  Value float_unary(te::UnaryOp op, DType dtype, Value x);
  Value float_binary(te::BinaryOp op, Value a, Value b);
  Value bool_or_int_binary(te::BinaryOp op, DType dtype, Value a, Value b);
  Value divide(te::BinaryOp op, bool is_signed, Value a, Value b);
  Value floor_divide(te::BinaryOp op, bool is_signed, Value a, Value b);
  Value compare(te::BinaryOp op, DType dtype, Value a, Value b);
  Value power(Value a, Value b);  // b may be a scalar that all lanes share
  Value power_by_scalar(Value a, Value b);
  Value any_power(Value a, Value b);
  Value remainder(Value a, Value b);
  Value libm(llvm::StringRef name, llvm::ArrayRef<Value> args);  // "tan": tanf of floats
  /// Returns `fast` except in the lanes where `is_slow` is true; branches around the call.
  Value libm_where(Value is_slow, Value fast, llvm::StringRef name, llvm::ArrayRef<Value> args);
  Value intrinsic(llvm::Intrinsic::ID id, Value x);
  Value rounded(DType dtype, Value x);  // a float to the nearest that the type has
  /// Returns the bits that a float in a register was made of; null where they are not at hand.
  static Value small_bits(DType dtype, Value x);
  /// Returns whether a float is known to be a number of the type.
  static bool is_small(DType dtype, Value x, int depth = 4);
  Value half_bits(Value x);  // of a float, as i16, rounded to nearest even
  Value float_of_half(Value bits);
  Value bfloat_bits(Value x);
  Value float_of_bfloat(Value bits);
  Value narrowed(Value x);  // f64 to f32, rounded to odd: rounding it again rounds once
  Value float_to_int(DType to, Value x);
  Value to_float(DType from, Value x);  // an integer as f32 or f64, exact enough for f16, bf16

  llvm::IRBuilder<>& b_;
  const Machine& machine_;
  bool contract_;
};

/// Emit byoc's own functions of f32, scalar or vector; `b` makes no fast-math assumptions. Errors
/// against the true value, in units in the last place, as math_test measures them over all of f32:
llvm::Value* emit_exp(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x);   // 1.0
llvm::Value* emit_silu(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x);  // 3.0
llvm::Value* emit_log(llvm::IRBuilder<>& b, llvm::Value* x);                           // 1.0
llvm::Value* emit_erf(llvm::IRBuilder<>& b, const Machine& machine,
                      llvm::Value* x);  // 2.0, 1.3 by tables
llvm::Value* emit_tanh(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x);  // 2.0
/// Emits e^x for sums with numbers of the size of 1, in half as many instructions where there is no
/// AVX-512: 1.0 ulp from -86 on, 0 below -87.
llvm::Value* emit_exp_beside_one(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x);

}  // namespace byoc::llvm_plugin
