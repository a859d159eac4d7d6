// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 in f32 registers: which values need no rounding, and which have their bits at hand.
#include <llvm/IR/PatternMatch.h>

#include "byoc/base/check.h"
#include "plugins/llvm/values/ops.h"

namespace byoc::llvm_plugin {
namespace {

using namespace llvm::PatternMatch;

// Returns whether each element of a constant is a number of the type.
bool is_representable(DType dtype, const llvm::Constant& constant) {
  const auto* element = llvm::dyn_cast_or_null<llvm::ConstantFP>(
      constant.getType()->isVectorTy() ? constant.getSplatValue() : &constant);
  if (element == nullptr) return false;
  llvm::APFloat number = element->getValueAPF();
  bool loses = false;
  number.convert(dtype == DType::kF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                 llvm::APFloat::rmNearestTiesToEven, &loses);
  return !loses;
}

}  // namespace

llvm::Value* Ops::small_bits(DType dtype, Value x) {
  BYOC_CHECK(is_small_float(dtype), "the bits of ", dtype, " in a register of f32");
  Value bits = nullptr;
  if (dtype == DType::kBF16) {
    const bool is_found = match(x, m_BitCast(m_Shl(m_ZExt(m_Value(bits)), m_SpecificInt(16))));
    return is_found && bits->getType()->isIntOrIntVectorTy(16) ? bits : nullptr;
  }
  auto half = m_FPExt(m_BitCast(m_Value(bits)));
  const bool is_found = match(x, m_Intrinsic<llvm::Intrinsic::arithmetic_fence>(half));
  return is_found && bits->getType()->isIntOrIntVectorTy(16) ? bits : nullptr;
}

// Looks through selections, such as maxima; `depth` bounds the search.
bool Ops::is_small(DType dtype, Value x, int depth) {
  if (small_bits(dtype, x) != nullptr) return true;
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(x)) return is_representable(dtype, *constant);
  auto* select = llvm::dyn_cast<llvm::SelectInst>(x);
  return select != nullptr && depth > 0 && is_small(dtype, select->getTrueValue(), depth - 1) &&
         is_small(dtype, select->getFalseValue(), depth - 1);
}

}  // namespace byoc::llvm_plugin
