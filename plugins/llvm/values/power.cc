// SPDX-License-Identifier: Apache-2.0
// Powers and remainders of floats. An exponent that all lanes share is mostly 2, 3, 0.5, -0.5 or
// -1; for these there is shorter code, chosen once per vector, or per scalar, where the exponent is
// not a constant.
#include "byoc/base/check.h"
#include "llvm/IR/Function.h"
#include "plugins/llvm/values/floats.h"
#include "plugins/llvm/values/math64.h"
#include "plugins/llvm/values/ops.h"

namespace byoc::llvm_plugin {
namespace {

using Value = llvm::Value*;

constexpr double kShortExponents[] = {2, 3, 0.5, -0.5, -1};

// Returns the root as pow has it: pow(-0, 0.5) is +0 and pow(-infinity, 0.5) is +infinity.
Value root_of(Floats& f, Value x) {
  Value root = f.add(f.sqrt(x), f.number(0));
  Value is_lowest = f.b.CreateFCmpOEQ(x, f.b.CreateFNeg(f.infinity()));
  return f.select(is_lowest, f.infinity(), root);
}

// Returns x^exponent with one rounding, or null. Cubes and reciprocal roots of f32 are computed in
// f64; those of f64 would be rounded twice.
Value short_power(llvm::IRBuilder<>& b, Value x, double exponent) {
  Floats f(b, x);
  if (exponent == 2) return f.mul(x, x);
  if (exponent == 0.5) return root_of(f, x);
  if (exponent == -1) return f.divide(f.number(1), x);
  const bool is_wide = exponent == 3 || exponent == -0.5;
  if (!is_wide || !x->getType()->getScalarType()->isFloatTy()) return nullptr;
  Value wide = b.CreateFPExt(x, like(x, b.getDoubleTy()));
  Floats g(b, wide);
  Value out =
      exponent == 3 ? g.mul(g.mul(wide, wide), wide) : g.divide(g.number(1), root_of(g, wide));
  return b.CreateFPTrunc(out, x->getType());
}

std::optional<double> constant_of(Value x) {
  auto* fixed = llvm::dyn_cast<llvm::Constant>(x);
  if (fixed && fixed->getType()->isVectorTy()) fixed = fixed->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(fixed);
  if (number == nullptr) return std::nullopt;
  return number->getType()->isDoubleTy() ? number->getValueAPF().convertToDouble()
                                         : double{number->getValueAPF().convertToFloat()};
}

}  // namespace

llvm::Value* Ops::power(Value a, Value b) {
  if (auto exponent = constant_of(b)) {
    if (Value out = short_power(b_, a, *exponent)) return out;
  }
  if (lanes_of(b) == 0) return power_by_scalar(a, b);
  return any_power(splat(a, lanes_of(b)), b);
}

llvm::Value* Ops::any_power(Value a, Value b) {
  b = splat(b, lanes_of(a));
  BYOC_CHECK(lanes_of(a) == lanes_of(b), "a power of ", lanes_of(a), " lanes by ", lanes_of(b));
  if (a->getType()->getScalarType()->isFloatTy()) return emit_pow(b_, a, b);
  return libm("pow", {a, b});
}

// Branches on the exponent: a block per short form, and one for all other exponents.
llvm::Value* Ops::power_by_scalar(Value a, Value b) {
  BYOC_CHECK(lanes_of(b) == 0, "an exponent of ", lanes_of(b), " lanes is no scalar");
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, function);
  };
  llvm::BasicBlock *any = block("power"), *join = block("powers");
  auto* bits = b_.getIntNTy(b->getType()->getScalarSizeInBits());
  llvm::SwitchInst* choice = b_.CreateSwitch(b_.CreateBitCast(b, bits), any);
  std::vector<std::pair<Value, llvm::BasicBlock*>> results;
  auto end = [&](Value out) {
    results.emplace_back(out, b_.GetInsertBlock());
    b_.CreateBr(join);
  };
  for (double exponent : kShortExponents) {
    llvm::BasicBlock* at = block("short_power");
    b_.SetInsertPoint(at);
    Value out = short_power(b_, a, exponent);
    if (out == nullptr) {
      at->eraseFromParent();
      continue;
    }
    auto* value = llvm::cast<llvm::ConstantFP>(llvm::ConstantFP::get(b->getType(), exponent));
    choice->addCase(b_.getInt(value->getValueAPF().bitcastToAPInt()), at);
    end(out);
  }
  b_.SetInsertPoint(any);
  end(any_power(a, b));
  b_.SetInsertPoint(join);
  llvm::PHINode* out = b_.CreatePHI(a->getType(), static_cast<unsigned>(results.size()));
  for (const auto& [value, from] : results) out->addIncoming(value, from);
  return out;
}

// Computes a - trunc(a / b) b in f64, where a quotient below 2^29 times b is exact. The rounded
// quotient may be too great by one. Other quotients are left to libm.
llvm::Value* Ops::remainder(Value a, Value b) {
  if (!a->getType()->getScalarType()->isFloatTy()) return libm("fmod", {a, b});
  llvm::Type* type = like(a, b_.getDoubleTy());
  Value x = b_.CreateFPExt(a, type), y = b_.CreateFPExt(b, type);
  Floats f(b_, x);
  x = f.abs(x), y = f.abs(y);
  Value quotient = f.divide(x, y), is_slow = b_.CreateFCmpUGE(quotient, f.number(0x1p29));
  is_slow = b_.CreateOr(is_slow, b_.CreateFCmpOEQ(y, f.infinity()));
  Value whole = intrinsic(llvm::Intrinsic::trunc, quotient);
  Value rest = f.subtract(x, f.mul(whole, y));
  rest = f.select(b_.CreateFCmpOLT(rest, f.number(0)), f.add(rest, y), rest);
  Value fast = b_.CreateFPTrunc(rest, a->getType());
  fast = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, fast, a);
  return libm_where(is_slow, fast, "fmod", {a, b});
}

// Calls libm for all lanes when it must be called for one.
llvm::Value* Ops::libm_where(Value is_slow, Value fast, llvm::StringRef name,
                             llvm::ArrayRef<Value> args) {
  BYOC_CHECK(lanes_of(is_slow) == lanes_of(fast), lanes_of(is_slow), " lanes may be slow of ",
             lanes_of(fast));
  Value any = lanes_of(is_slow) == 0 ? is_slow : b_.CreateOrReduce(is_slow);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* slow = llvm::BasicBlock::Create(b_.getContext(), "slow", before->getParent());
  auto* join = llvm::BasicBlock::Create(b_.getContext(), "fast", before->getParent());
  b_.CreateCondBr(any, slow, join);
  b_.SetInsertPoint(slow);
  Value exact = libm(name, args);
  exact = b_.CreateSelect(is_slow, exact, fast);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* out = b_.CreatePHI(fast->getType(), 2);
  out->addIncoming(fast, before);
  out->addIncoming(exact, slow);
  return out;
}

}  // namespace byoc::llvm_plugin
