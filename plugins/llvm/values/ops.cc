// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/values/ops.h"

#include <bit>

#include "byoc/base/check.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "plugins/llvm/values/math64.h"

namespace byoc::llvm_plugin {

using te::BinaryOp;
using te::UnaryOp;

namespace {

// Returns the libm function of a UnaryOp; "" where an instruction or byoc's own code computes it.
llvm::StringRef libm_name(UnaryOp op) {
  switch (op) {
    case UnaryOp::kErf:
      return "erf";
    case UnaryOp::kSin:
      return "sin";
    case UnaryOp::kCos:
      return "cos";
    case UnaryOp::kTan:
      return "tan";
    case UnaryOp::kAsin:
      return "asin";
    case UnaryOp::kAcos:
      return "acos";
    case UnaryOp::kAtan:
      return "atan";
    case UnaryOp::kSinh:
      return "sinh";
    case UnaryOp::kCosh:
      return "cosh";
    case UnaryOp::kAsinh:
      return "asinh";
    case UnaryOp::kAcosh:
      return "acosh";
    case UnaryOp::kAtanh:
      return "atanh";
    default:
      return "";
  }
}

}  // namespace

Ops::Ops(llvm::IRBuilder<>& builder, const Machine& machine, bool contract)
    : b_(builder), machine_(machine), contract_(contract) {}

llvm::Value* Ops::constant(DType dtype, double value) {
  if (!is_float(dtype)) return int_constant(dtype, static_cast<int64_t>(value));
  Value x = llvm::ConstantFP::get(value_type(b_.getContext(), dtype), value);
  return is_small_float(dtype) ? rounded(dtype, x) : x;
}

llvm::Value* Ops::int_constant(DType dtype, int64_t value) {
  return llvm::ConstantInt::get(value_type(b_.getContext(), dtype), static_cast<uint64_t>(value),
                                true);
}

llvm::Value* Ops::splat(Value x, unsigned lanes) {
  const unsigned own = lanes_of(x);
  BYOC_CHECK(own == 0 || lanes == 0 || own == lanes, "a vector of ", own, " lanes among ", lanes);
  return lanes == 0 || own != 0 ? x : b_.CreateVectorSplat(lanes, x);
}

llvm::Value* Ops::intrinsic(llvm::Intrinsic::ID id, Value x) {
  return b_.CreateUnaryIntrinsic(id, x);
}

// Calls libm once per lane, because it has no vectors.
llvm::Value* Ops::libm(llvm::StringRef name, llvm::ArrayRef<Value> args) {
  BYOC_CHECK(!args.empty(), "libm has no ", name.str(), " of nothing");
  for (Value arg : args)
    BYOC_CHECK(arg->getType() == args[0]->getType(), "the arguments of ", name.str(), " differ");
  llvm::Type* type = args[0]->getType()->getScalarType();
  std::vector<llvm::Type*> parameters(args.size(), type);
  std::string symbol = name.str() + (type->isFloatTy() ? "f" : "");
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  auto callee =
      module.getOrInsertFunction(symbol, llvm::FunctionType::get(type, parameters, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  unsigned lanes = lanes_of(args[0]);
  if (lanes == 0) return b_.CreateCall(callee, args);
  Value out = llvm::PoisonValue::get(args[0]->getType());
  for (unsigned k = 0; k < lanes; ++k) {
    std::vector<Value> lane;
    for (Value arg : args) lane.push_back(b_.CreateExtractElement(arg, k));
    out = b_.CreateInsertElement(out, b_.CreateCall(callee, lane), k);
  }
  return out;
}

llvm::Value* Ops::float_unary(UnaryOp op, DType dtype, Value x) {
  bool is_f32 = x->getType()->getScalarType()->isFloatTy();
  switch (op) {
    case UnaryOp::kNegate:
      return b_.CreateFNeg(x);
    case UnaryOp::kAbs:
      return intrinsic(llvm::Intrinsic::fabs, x);
    case UnaryOp::kSqrt:
      return intrinsic(llvm::Intrinsic::sqrt, x);
    case UnaryOp::kFloor:
      return intrinsic(llvm::Intrinsic::floor, x);
    case UnaryOp::kCeil:
      return intrinsic(llvm::Intrinsic::ceil, x);
    case UnaryOp::kTrunc:
      return intrinsic(llvm::Intrinsic::trunc, x);
    case UnaryOp::kRound:
      return intrinsic(llvm::Intrinsic::roundeven, x);
    case UnaryOp::kIsNan:
      return b_.CreateFCmpUNO(x, x);
    case UnaryOp::kIsInf:
      return b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs, x),
                              llvm::ConstantFP::getInfinity(x->getType()));
    case UnaryOp::kExp:
      return is_f32 ? emit_exp(b_, machine_, x) : emit_exp_f64(b_, x);
    case UnaryOp::kLog:
      return is_f32 ? emit_log(b_, x) : emit_log_f64(b_, x);
    case UnaryOp::kErf:
      if (is_f32) return emit_erf(b_, machine_, x);
      break;
    case UnaryOp::kTanh:
      return is_f32 ? emit_tanh(b_, machine_, x) : emit_tanh_f64(b_, x);
    default:
      break;
  }
  llvm::StringRef name = libm_name(op);
  BYOC_CHECK(!name.empty(), "unary op ", static_cast<int>(op), " of ", dtype);
  if (!is_f32) return libm(name, {x});
  Value fast = emit_in_f64(b_, op, x);
  if (op > UnaryOp::kTan) return fast;
  Value size = intrinsic(llvm::Intrinsic::fabs, x);
  Value is_large = b_.CreateFCmpOGT(size, llvm::ConstantFP::get(x->getType(), kLargestAngle));
  Value is_finite = b_.CreateFCmpONE(size, llvm::ConstantFP::getInfinity(x->getType()));
  return libm_where(b_.CreateAnd(is_large, is_finite), fast, name, {x});
}

llvm::Value* Ops::unary(UnaryOp op, DType dtype, Value x) {
  if (is_float(dtype)) {
    Value out = float_unary(op, dtype, x);
    bool is_exact = op == UnaryOp::kNegate || op == UnaryOp::kAbs ||
                    (op >= UnaryOp::kFloor && op <= UnaryOp::kIsInf);
    return is_small_float(dtype) && !is_exact ? rounded(dtype, out) : out;
  }
  switch (op) {
    case UnaryOp::kNegate:
      return b_.CreateNeg(x);
    case UnaryOp::kNot:
    case UnaryOp::kBitwiseNot:
      return b_.CreateNot(x);
    case UnaryOp::kAbs:
      return is_signed_int(dtype) ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse())
                                  : x;
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
      return llvm::ConstantInt::getFalse(like(x, b_.getInt1Ty()));
    default:
      BYOC_CHECK(false, "unary op ", static_cast<int>(op), " of ", dtype);
  }
}

llvm::Value* Ops::min_or_max(bool is_min, Value a, Value b) {
  return b_.CreateSelect(is_min ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b), a, b);
}

llvm::Value* Ops::nan_or(bool is_max, Value a, Value b) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros(true);
  b_.setFastMathFlags(flags);
  return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a,
                                  b);
}

llvm::Value* Ops::float_binary(BinaryOp op, Value a, Value b) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags;
  flags.setAllowContract(contract_);
  b_.setFastMathFlags(flags);
  switch (op) {
    case BinaryOp::kAdd:
      return b_.CreateFAdd(a, b);
    case BinaryOp::kSubtract:
      return b_.CreateFSub(a, b);
    case BinaryOp::kMultiply:
      return b_.CreateFMul(a, b);
    default:
      break;
  }
  b_.clearFastMathFlags();
  switch (op) {
    case BinaryOp::kDivide:
      return b_.CreateFDiv(a, b);
    case BinaryOp::kRemainder:
      return remainder(a, b);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return min_or_max(op == BinaryOp::kMin, a, b);
    default:
      BYOC_CHECK(false, "binary op ", static_cast<int>(op), " of floats");
  }
}

llvm::Value* Ops::compare(BinaryOp op, DType dtype, Value a, Value b) {
  if (is_float(dtype)) {
    auto predicate = op == BinaryOp::kEqual      ? llvm::CmpInst::FCMP_OEQ
                     : op == BinaryOp::kNotEqual ? llvm::CmpInst::FCMP_UNE
                     : op == BinaryOp::kLess     ? llvm::CmpInst::FCMP_OLT
                                                 : llvm::CmpInst::FCMP_OLE;
    return b_.CreateFCmp(predicate, a, b);
  }
  bool is_signed = is_signed_int(dtype);
  auto less = is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
  auto less_equal = is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
  auto predicate = op == BinaryOp::kEqual      ? llvm::CmpInst::ICMP_EQ
                   : op == BinaryOp::kNotEqual ? llvm::CmpInst::ICMP_NE
                   : op == BinaryOp::kLess     ? less
                                               : less_equal;
  return b_.CreateICmp(predicate, a, b);
}

// Divides without traps: a division by 0 gives some value, and the least integer divided by
// -1 wraps around.
llvm::Value* Ops::divide(BinaryOp op, bool is_signed, Value a, Value b) {
  bool wants_quotient = op == BinaryOp::kDivide;
  Value one = llvm::ConstantInt::get(b->getType(), 1);
  Value zero = llvm::ConstantInt::get(b->getType(), 0);
  Value by_zero = b_.CreateICmpEQ(b, zero);
  if (!is_signed) {
    Value safe = b_.CreateSelect(by_zero, one, b);
    return wants_quotient ? b_.CreateUDiv(a, safe) : b_.CreateURem(a, safe);
  }
  Value by_minus_one = b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType()));
  Value safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, b);
  Value plain = wants_quotient ? b_.CreateSDiv(a, safe) : b_.CreateSRem(a, safe);
  return b_.CreateSelect(by_minus_one, wants_quotient ? b_.CreateNeg(a) : zero, plain);
}

llvm::Value* Ops::floor_divide(BinaryOp op, bool is_signed, Value a, Value b) {
  bool wants_quotient = op == BinaryOp::kFloorDivide;
  if (!is_signed)
    return divide(wants_quotient ? BinaryOp::kDivide : BinaryOp::kRemainder, false, a, b);
  llvm::APInt power;
  auto* fixed = llvm::dyn_cast<llvm::Constant>(b);
  if (fixed && fixed->getType()->isVectorTy()) fixed = fixed->getSplatValue();
  auto* divisor = llvm::dyn_cast_or_null<llvm::ConstantInt>(fixed);
  if (divisor && divisor->getValue().isPowerOf2() && !divisor->isNegative()) {
    unsigned shift = divisor->getValue().logBase2();
    return wants_quotient
               ? b_.CreateAShr(a, shift)
               : b_.CreateAnd(a, b_.CreateSub(b, llvm::ConstantInt::get(b->getType(), 1)));
  }
  Value quotient = divide(BinaryOp::kDivide, true, a, b);
  Value rest = b_.CreateSub(a, b_.CreateMul(quotient, b));
  Value zero = llvm::ConstantInt::get(a->getType(), 0);
  Value crosses =
      b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b), zero));
  if (wants_quotient) return b_.CreateSub(quotient, b_.CreateZExt(crosses, quotient->getType()));
  return b_.CreateAdd(rest, b_.CreateSelect(crosses, b, zero));
}

llvm::Value* Ops::natural_division(BinaryOp op, Value a, Value b) {
  BYOC_CHECK(op >= BinaryOp::kDivide && op <= BinaryOp::kFloorModulo, "binary op ",
             static_cast<int>(op), " is no division");
  bool wants_quotient = op == BinaryOp::kFloorDivide || op == BinaryOp::kDivide;
  return wants_quotient ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
}

llvm::Value* Ops::bool_or_int_binary(BinaryOp op, DType dtype, Value a, Value b) {
  bool is_signed = is_signed_int(dtype);
  switch (op) {
    case BinaryOp::kAdd:
      return b_.CreateAdd(a, b);
    case BinaryOp::kSubtract:
      return b_.CreateSub(a, b);
    case BinaryOp::kMultiply:
      return b_.CreateMul(a, b);
    case BinaryOp::kDivide:
    case BinaryOp::kRemainder:
      return divide(op, is_signed, a, b);
    case BinaryOp::kFloorDivide:
    case BinaryOp::kFloorModulo:
      return floor_divide(op, is_signed, a, b);
    case BinaryOp::kMin:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                      b);
    case BinaryOp::kMax:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a,
                                      b);
    case BinaryOp::kAnd:
      return b_.CreateAnd(a, b);
    case BinaryOp::kOr:
      return b_.CreateOr(a, b);
    case BinaryOp::kXor:
      return b_.CreateXor(a, b);
    case BinaryOp::kShiftLeft:
      return b_.CreateShl(a, b);
    case BinaryOp::kShiftRight:
      return is_signed ? b_.CreateAShr(a, b) : b_.CreateLShr(a, b);
    default:
      BYOC_CHECK(false, "binary op ", static_cast<int>(op), " of ", dtype);
  }
}

llvm::Value* Ops::binary(BinaryOp op, DType dtype, Value a, Value b) {
  if (op == BinaryOp::kPower) {
    Value out = power(a, b);
    return is_small_float(dtype) ? rounded(dtype, out) : out;
  }
  unsigned lanes = std::max(lanes_of(a), lanes_of(b));
  a = splat(a, lanes);
  b = splat(b, lanes);
  if (op >= BinaryOp::kEqual) return compare(op, dtype, a, b);
  if (!is_float(dtype)) return bool_or_int_binary(op, dtype, a, b);
  Value out = float_binary(op, a, b);
  bool is_exact = op == BinaryOp::kMin || op == BinaryOp::kMax || op == BinaryOp::kRemainder;
  return is_small_float(dtype) && !is_exact ? rounded(dtype, out) : out;
}

}  // namespace byoc::llvm_plugin
