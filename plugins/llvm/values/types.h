// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of byoc's dtypes in memory and in registers. f16 and bf16 are computed with as floats
// that are rounded to their type after every operation; bool is i1, in memory a byte.
#include "byoc/base/dtype.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"

namespace byoc::llvm_plugin {

llvm::Type* storage_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* value_type(llvm::LLVMContext& context, DType dtype);

inline bool is_small_float(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

/// Returns the number of lanes; 0: no vector.
inline unsigned lanes_of(const llvm::Value* value) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type ? type->getNumElements() : 0;
}
/// Returns `scalar` itself, or a vector of it.
inline llvm::Type* with_lanes(llvm::Type* scalar, unsigned lanes) {
  return lanes == 0 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}
/// Returns the type of `shape`, a value, with other elements.
inline llvm::Type* like(const llvm::Value* shape, llvm::Type* scalar) {
  return with_lanes(scalar, lanes_of(shape));
}

}  // namespace byoc::llvm_plugin
