// SPDX-License-Identifier: Apache-2.0
// Casts between types, and between memory and registers.
#include <llvm/IR/IntrinsicInst.h>

#include "byoc/base/check.h"
#include "plugins/llvm/values/ops.h"

namespace byoc::llvm_plugin {
namespace {

llvm::Value* number(llvm::Value* like, uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}

}  // namespace

llvm::Value* Ops::float_of_bfloat(Value bits) {
  Value wide = b_.CreateZExt(bits, like(bits, b_.getInt32Ty()));
  return b_.CreateBitCast(b_.CreateShl(wide, 16), like(bits, b_.getFloatTy()));
}

// Rounds by adding half of the last place that stays, and one less than half where the
// kept part is even.
llvm::Value* Ops::bfloat_bits(Value x) {
  Value bits = b_.CreateBitCast(x, like(x, b_.getInt32Ty()));
  Value odd = b_.CreateAnd(b_.CreateLShr(bits, 16), 1);
  Value sum = b_.CreateAdd(bits, b_.CreateAdd(odd, number(bits, 0x7fff)));
  Value quiet = b_.CreateOr(bits, number(bits, 0x400000));  // a NaN stays one
  Value out = b_.CreateSelect(b_.CreateFCmpUNO(x, x), quiet, sum);
  return b_.CreateTrunc(b_.CreateLShr(out, 16), like(x, b_.getInt16Ty()));
}

// With F16C, the processor converts. LLVM's passes would compute with halves where an operation on
// both sides of a conversion allows it, and then compare vectors of halves element by element: the
// fence keeps the operations in f32.
// Without, moves the exponent from bias 15 to bias 127 by a multiplication, which makes subnormal
// halves normal; infinities and NaNs get the greatest exponent back.
llvm::Value* Ops::float_of_half(Value bits) {
  llvm::Type* f32 = like(bits, b_.getFloatTy());
  if (machine_.has("f16c")) {
    Value wide = b_.CreateFPExt(b_.CreateBitCast(bits, like(bits, b_.getHalfTy())), f32);
    return b_.CreateArithmeticFence(wide, f32);
  }
  Value wide = b_.CreateZExt(bits, like(bits, b_.getInt32Ty()));
  Value magnitude = b_.CreateShl(b_.CreateAnd(wide, 0x7fff), 13);
  Value sign = b_.CreateShl(b_.CreateAnd(wide, 0x8000), 16);
  Value scaled =
      b_.CreateFMul(b_.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0x1p112));
  Value is_special = b_.CreateICmpUGE(magnitude, number(wide, 0x0f800000));
  Value finite = b_.CreateBitCast(scaled, wide->getType());
  Value special = b_.CreateOr(magnitude, number(wide, 0x7f800000));
  return b_.CreateBitCast(b_.CreateOr(b_.CreateSelect(is_special, special, finite), sign), f32);
}

// Rounds normal halves in integers. For subnormal ones the addition of 2^-1 * 2^... leaves exactly
// the bits that stay, rounded by the processor. Greater ones become infinity; NaN a quiet NaN.
llvm::Value* Ops::half_bits(Value x) {
  llvm::Type* i16 = like(x, b_.getInt16Ty());
  if (machine_.has("f16c"))
    return b_.CreateBitCast(b_.CreateFPTrunc(x, like(x, b_.getHalfTy())), i16);
  llvm::Type* f32 = x->getType();
  Value bits = b_.CreateBitCast(x, like(x, b_.getInt32Ty()));
  Value sign = b_.CreateAnd(b_.CreateLShr(bits, 16), 0x8000);
  Value magnitude = b_.CreateAnd(bits, 0x7fffffff);
  Value odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), 1);
  Value rebased = b_.CreateSub(magnitude, number(bits, 0x38000000 - 0xfff));
  Value normal = b_.CreateLShr(b_.CreateAdd(rebased, odd), 13);
  Value sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0.5));
  Value subnormal = b_.CreateSub(b_.CreateBitCast(sum, bits->getType()), number(bits, 0x3f000000));
  Value out =
      b_.CreateSelect(b_.CreateICmpULT(magnitude, number(bits, 0x38800000)), subnormal, normal);
  out = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(bits, 0x47800000)), number(bits, 0x7c00),
                        out);
  out = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(bits, 0x7f800000)), number(bits, 0x7e00),
                        out);
  return b_.CreateTrunc(b_.CreateOr(out, sign), i16);
}

llvm::Value* Ops::rounded(DType dtype, Value x) {
  BYOC_CHECK(is_small_float(dtype), "a float in a register is rounded to ", dtype);
  if (is_small(dtype, x)) return x;
  if (dtype == DType::kF16) return float_of_half(half_bits(x));
  return float_of_bfloat(bfloat_bits(x));
}

llvm::Value* Ops::from_storage(DType dtype, Value x) {
  if (dtype == DType::kF16) return float_of_half(x);
  if (dtype == DType::kBF16) return float_of_bfloat(x);
  if (dtype == DType::kBool) return b_.CreateICmpNE(x, number(x, 0));
  return x;
}

llvm::Value* Ops::to_storage(DType dtype, Value x) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    if (Value bits = small_bits(dtype, x)) return bits;
    return dtype == DType::kF16 ? half_bits(x) : bfloat_bits(x);
  }
  if (dtype == DType::kBool) return b_.CreateZExt(x, like(x, b_.getInt8Ty()));
  return x;
}

llvm::Value* Ops::narrowed(Value x) {
  BYOC_CHECK(x->getType()->getScalarType()->isDoubleTy(), "only f64 is narrowed");
  Value near = b_.CreateFPTrunc(x, like(x, b_.getFloatTy()));
  Value back = b_.CreateFPExt(near, x->getType());
  Value bits = b_.CreateBitCast(near, like(x, b_.getInt32Ty()));
  Value is_even = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), number(bits, 0));
  Value is_inexact = b_.CreateFCmpONE(back, x);
  auto fabs = [&](Value v) { return intrinsic(llvm::Intrinsic::fabs, v); };
  Value is_above = b_.CreateFCmpOGT(fabs(back), fabs(x));
  Value odd = b_.CreateSelect(is_above, b_.CreateSub(bits, number(bits, 1)),
                              b_.CreateAdd(bits, number(bits, 1)));
  Value out = b_.CreateSelect(b_.CreateAnd(is_even, is_inexact), odd, bits);
  return b_.CreateBitCast(out, near->getType());
}

// Converts integers of fewer than 32 bits through i32, as C does on this machine. A float that was
// rounded, halves to even, is converted without that step: the instruction rounds in the same way.
llvm::Value* Ops::float_to_int(DType to, Value x) {
  BYOC_CHECK(!is_float(to) && x->getType()->isFPOrFPVectorTy(), "a float becomes ", to);
  llvm::Type* type = like(x, value_type(b_.getContext(), to));
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(x);
  if (to == DType::kI32 && x->getType()->getScalarType()->isFloatTy() && call != nullptr &&
      call->getIntrinsicID() == llvm::Intrinsic::roundeven)
    return b_.CreateIntrinsic(llvm::Intrinsic::lrint, {type, x->getType()},
                              {call->getArgOperand(0)});
  if (to == DType::kBool) return b_.CreateFCmpUNE(x, llvm::ConstantFP::get(x->getType(), 0));
  if (to == DType::kU64) return b_.CreateFPToUI(x, type);
  if (to == DType::kI64 || to == DType::kI32) return b_.CreateFPToSI(x, type);
  llvm::Type* wide = like(x, to == DType::kU32 ? b_.getInt64Ty() : b_.getInt32Ty());
  return b_.CreateTrunc(b_.CreateFPToSI(x, wide), type);
}

llvm::Value* Ops::to_float(DType from, Value x) {
  BYOC_CHECK(!is_float(from) && x->getType()->isIntOrIntVectorTy(), from, " becomes a float");
  llvm::Type* type = like(x, dtype_size(from) > 2 ? b_.getDoubleTy() : b_.getFloatTy());
  return is_signed_int(from) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
}

llvm::Value* Ops::cast(DType from, DType to, Value x) {
  if (from == to) return x;
  llvm::Type* type = like(x, value_type(b_.getContext(), to));
  if (!is_float(to)) {
    if (is_float(from)) return float_to_int(to, x);
    if (to == DType::kBool) return b_.CreateICmpNE(x, number(x, 0));
    return b_.CreateIntCast(x, type, is_signed_int(from));
  }
  if (is_small_float(to)) {
    if (!is_float(from)) x = to_float(from, x);
    if (x->getType()->getScalarType()->isDoubleTy()) x = narrowed(x);
    return rounded(to, x);
  }
  if (is_float(from)) return b_.CreateFPCast(x, type);
  return is_signed_int(from) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
}

llvm::Value* Ops::bitcast(DType from, DType to, Value x) {
  Value stored = to_storage(from, x);
  return from_storage(to, b_.CreateBitCast(stored, like(x, storage_type(b_.getContext(), to))));
}

}  // namespace byoc::llvm_plugin
